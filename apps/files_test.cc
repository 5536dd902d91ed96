#include "apps/files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  static unsigned mode(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }

  const io::TestDirectory made_;
  const std::string& directory_ = made_.path();
};

TEST_F(FilesTest, WritesForTheOwnerOnlyAndReadsBack) {
  const std::string path = directory_ + "/a";
  ASSERT_TRUE(write_file(path, "text", Overwrite::no));
  EXPECT_EQ(mode(path), 0600U);
  EXPECT_EQ(read_file(path, 4), "text");
  EXPECT_EQ(read_file(path, 3).error().code, Errc::overloaded);
  EXPECT_EQ(read_file(directory_ + "/none", 4).error().code, Errc::not_found);
}

TEST_F(FilesTest, ReplacesOnlyWhenAllowedAndLeavesNothingElseBehind) {
  const std::string path = directory_ + "/a";
  ASSERT_TRUE(write_file(path, "old", Overwrite::no));
  const auto refused = write_file(path, "new", Overwrite::no);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_EQ(read_file(path, 9), "old");
  ASSERT_TRUE(write_file(path, "new", Overwrite::yes));
  EXPECT_EQ(read_file(path, 9), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{directory_}, {}), 1);
}

TEST_F(FilesTest, FollowsNoLinkThatWaitsForIt) {
  const std::string path = directory_ + "/a";
  const std::string other = directory_ + "/other";
  ASSERT_TRUE(write_file(other, "mine", Overwrite::no));
  std::filesystem::create_symlink(other, fmt::format("{}.{}.tmp", path, ::getpid()));
  ASSERT_TRUE(write_file(path, "text", Overwrite::yes));
  EXPECT_EQ(read_file(other, 9), "mine");
  EXPECT_EQ(read_file(path, 9), "text");
}

TEST_F(FilesTest, MakesPrivateDirectories) {
  const std::string path = directory_ + "/a/b";
  ASSERT_TRUE(make_private_directory(path));
  EXPECT_EQ(mode(path), 0700U);
  EXPECT_EQ(mode(directory_ + "/a"), 0700U);
  EXPECT_TRUE(make_private_directory(path));
}

TEST_F(FilesTest, ClosesAnOpenDirectoryOnlyWhileItIsEmpty) {
  const std::string path = directory_ + "/a";
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  ASSERT_TRUE(make_private_directory(path));
  EXPECT_EQ(mode(path), 0700U);

  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  ASSERT_TRUE(write_file(path + "/file", "", Overwrite::no));
  const auto refused = make_private_directory(path);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("others may enter"));
  EXPECT_EQ(mode(path), 0755U);
}

TEST_F(FilesTest, RefusesAFileInPlaceOfADirectory) {
  ASSERT_TRUE(write_file(directory_ + "/a", "", Overwrite::no));
  EXPECT_THAT(make_private_directory(directory_ + "/a").error().detail,
              HasSubstr("not a directory"));
}

TEST(DataDirectory, IsTheConfiguredOneOrTheUsers) {
  EXPECT_EQ(data_directory("/x"), "/x");
  EXPECT_THAT(data_directory(""), HasSubstr("seedance"));
}

}  // namespace
}  // namespace seedance::apps
