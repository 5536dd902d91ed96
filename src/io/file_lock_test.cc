#include "io/file_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/test_directory.h"

namespace seedance::io {
namespace {

TEST(FileLock, IsHeldByOne) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/lock";
  EXPECT_EQ(FileLock::holder(path), std::nullopt);
  {
    const auto first = FileLock::take(path);
    ASSERT_TRUE(first);
    EXPECT_EQ(FileLock::holder(path), ::getpid());
    EXPECT_EQ(FileLock::take(path).error().code, Errc::invalid);
    EXPECT_EQ(FileLock::holder(path), ::getpid());
  }
  EXPECT_EQ(FileLock::holder(path), std::nullopt);
  EXPECT_TRUE(FileLock::take(path));
}

TEST(FileLock, MovesWithItsOwner) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/lock";
  auto first = FileLock::take(path);
  ASSERT_TRUE(first);
  const FileLock second{std::move(*first)};
  EXPECT_EQ(FileLock::holder(path), ::getpid());
}

TEST(FileLock, NeedsItsDirectory) {
  const TestDirectory directory;
  EXPECT_EQ(FileLock::take(directory.path() + "/missing/lock").error().code, Errc::not_found);
}

}  // namespace
}  // namespace seedance::io
