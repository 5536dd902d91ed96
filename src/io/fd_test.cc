#include "io/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace seedance::io {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

TEST(Fd, ClosesWhenItsOwnerGoes) {
  int number = -1;
  {
    Fd first{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    number = first.get();
    const Fd second{std::move(first)};
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, ClosesWhatItHadWhenAssigned) {
  Fd fd{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const int before = fd.get();
  Fd other{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const int after = other.get();
  fd = std::move(other);
  EXPECT_FALSE(is_open(before));
  EXPECT_TRUE(is_open(after));
}

TEST(DescriptorLimit, IsRaisedToWhatIsAllowed) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(raise_descriptor_limit(), hard);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, hard);
}

}  // namespace
}  // namespace seedance::io
