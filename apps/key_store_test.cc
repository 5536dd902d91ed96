#include "apps/key_store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <thread>
#include <vector>

#include "apps/files.h"
#include "auth/gate.h"
#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds{1'709'210'096}};

class KeyStoreTest : public testing::Test {
 protected:
  AddedKey add(std::string tenant, std::string name = "") const {
    auto added = add_key(path_, {.name = std::move(name), .tenant = std::move(tenant)}, kNow);
    EXPECT_TRUE(added) << added.error().detail;
    return added ? *added : AddedKey{};
  }
  std::vector<auth::KeyEntry> keys() const { return read_keys(path_).value(); }
  std::string text() const { return read_file(path_, 1 << 20).value(); }

  const io::TestDirectory directory_;
  const std::string path_ = directory_.path() + "/keys";
};

TEST_F(KeyStoreTest, MakesAKeyThatOpensAndKeepsOnlyItsHash) {
  const AddedKey added = add("acme");
  EXPECT_EQ(added.name, "acme-1");
  EXPECT_TRUE(added.secret.starts_with("sk-sd-"));
  EXPECT_THAT(text(), AllOf(HasSubstr("acme-1 acme user sha256:"),
                            HasSubstr(" 2024-02-29T12:34:56Z\n"), Not(HasSubstr(added.secret))));
  const auth::Gate gate{{.keys = keys()}};
  EXPECT_EQ(gate.admit(added.secret, kNow)->tenant, "acme");
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KeyStoreTest, NamesTheKeysOfEveryTenant) {
  const AddedKey added = add("#acme");
  EXPECT_EQ(added.name, "acme-1");
  const auth::Gate gate{{.keys = keys()}};
  EXPECT_EQ(gate.admit(added.secret, kNow)->tenant, "#acme");
}

TEST_F(KeyStoreTest, RevokesOneAndKeepsWhatElseIsThere) {
  ASSERT_TRUE(write_file(path_, "# mine\n", Overwrite::no));
  const AddedKey first = add("acme");
  const AddedKey second = add("acme");
  ASSERT_TRUE(revoke_key(path_, first.name));
  const auth::Gate gate{{.keys = keys()}};
  EXPECT_FALSE(gate.admit(first.secret, kNow));
  EXPECT_TRUE(gate.admit(second.secret, kNow));
  EXPECT_THAT(text(), HasSubstr("# mine\n"));
  EXPECT_EQ(revoke_key(path_, first.name).error().code, Errc::not_found);
}

TEST_F(KeyStoreTest, RefusesNamesThatAreTakenOrNone) {
  add("acme", "laptop");
  EXPECT_THAT(add_key(path_, {.name = "laptop", .tenant = "acme"}, kNow).error().detail,
              HasSubstr("laptop already"));
  for (const auto* name : {"two words", "#1", "caf\xC3\xA9"}) {
    EXPECT_FALSE(add_key(path_, {.name = name, .tenant = "acme"}, kNow)) << name;
  }
  EXPECT_FALSE(add_key(path_, {.tenant = ""}, kNow));
  EXPECT_EQ(keys().size(), 1U);
}

// As root can be: where tests run as somebody else, there is nothing to give away.
TEST_F(KeyStoreTest, LeavesTheFileToWhomTheDirectoryBelongs) {
  constexpr uid_t kSomebody = 12345;
  if (::chown(directory_.path().c_str(), kSomebody, kSomebody) != 0) GTEST_SKIP();
  add("acme");
  add("acme");
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kSomebody);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KeyStoreTest, LeavesABadFileAlone) {
  ASSERT_TRUE(write_file(path_, "nonsense\n", Overwrite::no));
  EXPECT_THAT(add_key(path_, {.tenant = "acme"}, kNow).error().detail, HasSubstr(path_ + ":1: "));
  EXPECT_THAT(revoke_key(path_, "a").error().detail, HasSubstr(path_ + ":1: "));
  EXPECT_EQ(text(), "nonsense\n");
}

TEST_F(KeyStoreTest, LosesNoKeyWhenSeveralAreMadeAtOnce) {
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) threads.emplace_back([this] { (void)add("acme"); });
  threads.clear();
  EXPECT_EQ(keys().size(), 8U);
}

TEST_F(KeyStoreTest, ListsWithoutAHashInFull) {
  EXPECT_EQ(list_text({}), "no keys\n");
  add("acme");
  const std::string hash = auth::to_hex(keys().front().hash);
  const std::string shown = list_text(keys());
  EXPECT_THAT(shown, AllOf(HasSubstr("acme-1"), HasSubstr("user"), HasSubstr(hash.substr(0, 8)),
                           Not(HasSubstr(hash.substr(0, 9)))));
  const auto json = boost::json::parse(list_json(keys())).as_object().at("keys").as_array();
  ASSERT_EQ(json.size(), 1U);
  const auto& key = json.front().as_object();
  EXPECT_EQ(key.at("name").as_string(), "acme-1");
  EXPECT_EQ(key.at("tenant").as_string(), "acme");
  EXPECT_EQ(key.at("role").as_string(), "user");
  EXPECT_EQ(key.at("hash_begins").as_string(), "sha256:" + hash.substr(0, 8));
}

TEST_F(KeyStoreTest, SaysWhenOthersMayReadIt) {
  EXPECT_FALSE(is_open_to_others(path_));
  add("acme");
  EXPECT_FALSE(is_open_to_others(path_));
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_TRUE(is_open_to_others(path_));
  add("acme");
  EXPECT_FALSE(is_open_to_others(path_)) << "a change closes it";
  EXPECT_EQ(read_keys(path_ + "-none").error().code, Errc::not_found);
}

}  // namespace
}  // namespace seedance::apps
