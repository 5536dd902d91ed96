#include "apps/model_digest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "io/test_directory.h"

namespace seedance::apps {
namespace {

class DigestTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream{path} << text;
    return path;
  }
  DigestCache cache() const { return DigestCache{directory_ + "/digests"}; }

  const io::TestDirectory made_;
  const std::string& directory_ = made_.path();
};

// Of FIPS 180-4's example "abc".
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST_F(DigestTest, IsTheSha256OfAllPartsInOrder) {
  EXPECT_EQ(cache().compute({file("m", "abc")}, {}), kAbc);
  EXPECT_EQ(cache().compute({file("m1", "a"), file("m2", ""), file("m3", "bc")}, {}), kAbc);
}

TEST_F(DigestTest, IsFoundUntilTheFileChanges) {
  const std::string model = file("m", "abc");
  EXPECT_EQ(cache().find({model}), "");
  ASSERT_TRUE(cache().compute({file("other", "x")}, {}));
  ASSERT_TRUE(cache().compute({model}, {}));
  ASSERT_TRUE(cache().compute({file("third", "y")}, {}));
  EXPECT_EQ(cache().find({model}), kAbc);
  EXPECT_EQ(cache().find({model, model}), "");

  std::filesystem::last_write_time(model, std::filesystem::file_time_type{});
  EXPECT_EQ(cache().find({model}), "");
  std::filesystem::remove(model);
  EXPECT_EQ(cache().find({model}), "");
}

TEST_F(DigestTest, StopsWhenTold) {
  const std::stop_source stop;
  stop.request_stop();
  const auto digest = cache().compute({file("m", "abc")}, stop.get_token());
  ASSERT_FALSE(digest);
  EXPECT_EQ(digest.error().code, Errc::disconnected);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/digests"));
}

}  // namespace
}  // namespace seedance::apps
