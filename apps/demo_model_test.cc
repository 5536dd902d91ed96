#include "apps/demo_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DemoModel, IsBesideTheBinaryOrInstalledOrKept) {
  EXPECT_THAT(demo_model_places("/opt/bin", "/var/lib/seedance"),
              ElementsAre("/opt/bin/demo.gguf", "/opt/share/seedance/models/demo.gguf",
                          "/var/lib/seedance/models/demo.gguf"));
}

TEST(DemoModel, TheBinaryKnowsItsDirectory) {
  EXPECT_TRUE(std::filesystem::exists(binary_directory() + "/apps_test"));
}

TEST(DemoModel, TheFirstPlaceThatHasItWins) {
  const io::TestDirectory directory;
  const std::vector<std::string> places{directory.path() + "/a", directory.path() + "/b",
                                        directory.path() + "/c"};
  const auto none = find_demo_model(places);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
  EXPECT_THAT(none.error().detail, AllOf(HasSubstr(places[0]), HasSubstr(places[1]),
                                         HasSubstr(places[2]), HasSubstr("--model PATH")));
  for (std::size_t last = places.size(); last-- > 0;) {
    std::ofstream{places[last]} << "model";
    EXPECT_EQ(find_demo_model(places), places[last]);
  }
}

}  // namespace
}  // namespace seedance::apps
