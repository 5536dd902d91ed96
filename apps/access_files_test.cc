#include "apps/access_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "apps/files.h"
#include "apps/key_store.h"
#include "auth/test_token.h"
#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr WallTime kNow{std::chrono::seconds{1'750'000'000}};
constexpr std::string_view kClaims =
    R"({"sub":"acme","exp":1750000600,"aud":"seedance","iss":"login"})";

class AccessFilesTest : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) const {
    std::string path = directory_.path() + "/" + name;
    EXPECT_TRUE(write_file(path, text, Overwrite::yes));
    return path;
  }
  static std::string mistake(const config::Settings& settings) {
    const auto gate = make_gate(settings);
    EXPECT_FALSE(gate);
    return gate ? "" : gate.error().detail;
  }
  static std::string who(const config::Settings& settings, std::string_view credential) {
    const auto gate = make_gate(settings);
    EXPECT_TRUE(gate) << gate.error().detail;
    const auto admitted = (*gate)->admit(credential, kNow);
    return admitted ? admitted->tenant : std::string{name(admitted.error())};
  }

  const io::TestDirectory directory_;
};

TEST_F(AccessFilesTest, AskForNothingWhereNothingIsSet) {
  EXPECT_FALSE((*make_gate({}))->closed());
}

TEST_F(AccessFilesTest, HoldKeysOfBothKinds) {
  config::Settings settings;
  settings.api_keys = {"sesame"};
  settings.keys_file = directory_.path() + "/keys";
  const auto added = add_key(settings.keys_file, {.tenant = "acme"}, kNow);
  EXPECT_EQ(who(settings, added->secret), "acme");
  EXPECT_EQ(who(settings, "sesame"), "local");
  EXPECT_EQ(who(settings, "other"), "wrong_key");
}

TEST_F(AccessFilesTest, StayClosedWithAFileWithoutKeys) {
  config::Settings settings;
  settings.keys_file = file("keys", "# none left\n");
  EXPECT_EQ(who(settings, ""), "no_credential");
}

TEST_F(AccessFilesTest, HoldTheKeyOfEitherSigner) {
  config::Settings settings;
  settings.jwt_audience = "seedance";
  settings.jwt_issuer = "login";
  settings.jwt_secret_file = file("secret", std::string{auth::kTestSecret} + "\n");
  EXPECT_EQ(who(settings, auth::hs256_token(kClaims)), "acme");
  settings.jwt_secret_file = "";
  settings.jwt_public_key_file = file("public.pem", auth::TestSigner{}.pem());
  EXPECT_EQ(who(settings, auth::TestSigner{}.token(kClaims)), "acme");
  EXPECT_EQ(who(settings, auth::hs256_token(kClaims)), "token_algorithm");
  settings.jwt_issuer = "other";
  EXPECT_EQ(who(settings, auth::TestSigner{}.token(kClaims)), "token_issuer");
}

TEST_F(AccessFilesTest, NameTheKeyAndTheFileThatIsWrong) {
  config::Settings settings;
  settings.keys_file = directory_.path() + "/none";
  EXPECT_THAT(mistake(settings), StartsWith("keys_file: " + settings.keys_file + ": "));
  settings.keys_file = file("keys", "# one\nnonsense\n");
  EXPECT_THAT(mistake(settings), StartsWith("keys_file: " + settings.keys_file + ":2: "));
  settings = {};
  settings.jwt_secret_file = file("short", "hunter2\n");
  EXPECT_THAT(mistake(settings), AllOf(StartsWith("jwt_secret_file: "), HasSubstr("7 bytes"),
                                       Not(HasSubstr("hunter2"))));
  settings = {};
  settings.jwt_public_key_file = file("short", "hunter2\n");
  EXPECT_THAT(mistake(settings), StartsWith("jwt_public_key_file: "));
  settings.jwt_secret_file = settings.jwt_public_key_file;
  EXPECT_THAT(mistake(settings), HasSubstr("set one"));
  settings = {};
  settings.jwt_audience = "seedance";
  EXPECT_THAT(mistake(settings), StartsWith("jwt_audience"));
}

TEST_F(AccessFilesTest, WarnOfSecretsThatOthersCanRead) {
  config::Settings settings;
  settings.keys_file = file("keys", "");
  settings.jwt_secret_file = file("secret", auth::kTestSecret);
  EXPECT_THAT(access_warnings(settings), IsEmpty());
  ASSERT_EQ(::chmod(settings.keys_file.c_str(), 0644), 0);
  EXPECT_THAT(access_warnings(settings), ElementsAre(HasSubstr(settings.keys_file)));
}

TEST(Exposure, NeedsSomethingThatSaysWhoMayComeIn) {
  const auth::Gate open;
  const auth::Gate closed{{.plain_keys = {"sesame"}}};
  config::Settings settings;
  EXPECT_TRUE(check_exposure(settings, open, true));
  EXPECT_TRUE(check_exposure(settings, closed, false));
  const auto refused = check_exposure(settings, open, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, AllOf(HasSubstr("keys_file"), HasSubstr("--insecure")));
  settings.insecure = true;
  EXPECT_TRUE(check_exposure(settings, open, false));
  settings.insecure = false;
  EXPECT_TRUE(check_exposure(settings, auth::Gate{{.certificates = true}}, false));
}

}  // namespace
}  // namespace seedance::apps
