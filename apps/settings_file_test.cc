#include "apps/settings_file.h"

#include <gmock/gmock.h>

#include "apps/files.h"
#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::StartsWith;

TEST(SettingsFile, GivesWayToFlags) {
  const io::TestDirectory directory;
  const std::string path = directory.path() + "/a.yaml";
  ASSERT_TRUE(write_file(path, "keys_file: a\nmax_tickets: 7\n", Overwrite::no));
  const auto settings = load_settings(path, {{"--keys-file", {"b"}}, {"--host", {}}});
  ASSERT_TRUE(settings) << settings.error().detail;
  EXPECT_EQ(settings->keys_file, "b");
  EXPECT_EQ(settings->max_tickets, 7);
  EXPECT_EQ(settings->host, config::Settings{}.host);
}

TEST(SettingsFile, TakesASwitchThatStandsAlone) {
  const io::TestDirectory directory;
  const std::string path = directory.path() + "/a.yaml";
  ASSERT_TRUE(write_file(path, "", Overwrite::no));
  EXPECT_TRUE(load_settings(path, {{"--insecure", {""}}})->insecure);
  EXPECT_FALSE(load_settings(path, {{"--insecure", {"false"}}})->insecure);
  EXPECT_FALSE(load_settings(path, {{"--port", {""}}}));
  EXPECT_TRUE(is_switch("--insecure"));
  EXPECT_FALSE(is_switch("--port"));
}

TEST(SettingsFile, MustBeThereWhenItIsNamed) {
  const io::TestDirectory directory;
  const auto settings = load_settings(directory.path() + "/none.yaml");
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().detail, StartsWith("--config: "));
}

}  // namespace
}  // namespace seedance::apps
