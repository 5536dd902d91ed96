#include "io/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "io/test_directory.h"

namespace seedance::io {
namespace {

using testing::HasSubstr;

class FileSystemTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  TestDirectory directory_;
  SystemFiles files_;
};

TEST_F(FileSystemTest, WritesPiecesAtTheEnd) {
  auto file = files_.create(path("a"));
  ASSERT_TRUE(file);
  const std::vector<std::string_view> pieces{"one ", "", "two "};
  EXPECT_EQ(files_.write(*file, pieces), 8U);
  EXPECT_TRUE(files_.sync(*file));
  auto again = files_.open(path("a"));
  ASSERT_TRUE(again);
  const std::vector<std::string_view> more{"three"};
  EXPECT_EQ(files_.write(*again, more), 5U);
  EXPECT_EQ(read_file(path("a")), "one two three");
  EXPECT_TRUE(files_.create(path("a")));
  EXPECT_EQ(read_file(path("a")), "");
}

TEST_F(FileSystemTest, TakesTheFirstOfVeryManyPieces) {
  auto file = files_.create(path("a"));
  ASSERT_TRUE(file);
  const std::vector<std::string_view> pieces(5000, "x");
  const auto written = files_.write(*file, pieces);
  ASSERT_TRUE(written);
  EXPECT_GT(*written, 0U);
  EXPECT_LT(*written, 5000U);
}

TEST_F(FileSystemTest, WritesBehindTheCutAfterATruncation) {
  auto file = files_.create(path("a"));
  ASSERT_TRUE(file);
  const std::vector<std::string_view> pieces{"abcdef"};
  ASSERT_TRUE(files_.write(*file, pieces));
  ASSERT_TRUE(files_.truncate(*file, 2));
  ASSERT_TRUE(files_.write(*file, pieces));
  EXPECT_EQ(read_file(path("a")), "ababcdef");
}

TEST_F(FileSystemTest, ReservingLeavesTheSize) {
  auto file = files_.create(path("a"));
  ASSERT_TRUE(file);
  files_.reserve(*file, 1 << 20);
  EXPECT_EQ(read_file(path("a")), "");
}

TEST_F(FileSystemTest, ReadsMoreThanOneBlock) {
  std::string text(3'000'000, 'x');
  for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i % 26);
  std::ofstream{path("a")} << text;
  EXPECT_EQ(read_file(path("a")), text);
}

TEST_F(FileSystemTest, RenamesAndRemoves) {
  ASSERT_TRUE(files_.create(path("a")));
  ASSERT_TRUE(files_.create(path("b")));
  EXPECT_TRUE(files_.rename(path("a"), path("b")));
  EXPECT_THAT(*list_directory(directory_.path()), testing::ElementsAre("b"));
  EXPECT_TRUE(files_.remove(path("b")));
  EXPECT_TRUE(files_.remove(path("b")));
  EXPECT_TRUE(files_.sync_directory(directory_.path()));
  EXPECT_THAT(*list_directory(directory_.path()), testing::IsEmpty());
}

TEST_F(FileSystemTest, ErrorsNameThePath) {
  const auto missing = files_.open(path("missing"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().detail, HasSubstr("missing: No such file"));
  EXPECT_EQ(read_file(path("missing")).error().code, Errc::not_found);
  EXPECT_EQ(list_directory(path("missing")).error().code, Errc::not_found);
  EXPECT_FALSE(files_.create(path("missing/a")));
  EXPECT_FALSE(files_.rename(path("missing"), path("b")));
  EXPECT_FALSE(files_.sync_directory(path("missing")));
}

TEST_F(FileSystemTest, AFullDiskIsAnError) {
  auto file = files_.create(path("a"));
  ASSERT_TRUE(file);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 4;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::vector<std::string_view> pieces{"abcdef"};
  const auto taken = files_.write(*file, pieces);
  const auto refused = files_.write(*file, pieces);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(taken, 4U);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("File too large"));
}

TEST_F(FileSystemTest, MakesDirectoriesForTheirOwnerOnly) {
  const std::string deep = path("a/b/c");
  EXPECT_THAT(*make_directory(deep),
              testing::ElementsAre(directory_.path(), path("a"), path("a/b")));
  EXPECT_THAT(*make_directory(deep), testing::IsEmpty());
  for (const std::string& made : {path("a"), deep}) {
    struct stat status{};
    ASSERT_EQ(::stat(made.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
  }
  ASSERT_TRUE(files_.create(path("file")));
  EXPECT_THAT(make_directory(path("file")).error().detail, HasSubstr("not a directory"));
  EXPECT_FALSE(make_directory(path("file/below")));
}

}  // namespace
}  // namespace seedance::io
