#include "io/child_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace seedance::io {
namespace {

TEST(ChildChannel, CarriesBytesAndBlocksTheChildOnly) {
  const auto channel = ChildChannel::open();
  ASSERT_TRUE(channel) << channel.error().detail;
  EXPECT_EQ(write(channel->ours.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(channel->theirs.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_NE(fcntl(channel->ours.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(channel->theirs.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(ChildChannel, IsClosedOnExecUnlessItIsHandedOn) {
  const auto channel = ChildChannel::open();
  ASSERT_TRUE(channel) << channel.error().detail;
  EXPECT_NE(fcntl(channel->ours.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(channel->theirs.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(ExecArguments, EndWithNull) {
  const std::vector<std::string> argv{"program", "--flag"};
  const auto arguments = exec_arguments(argv);
  ASSERT_EQ(arguments.size(), 3U);
  EXPECT_STREQ(arguments[1], "--flag");
  EXPECT_EQ(arguments[2], nullptr);
}

}  // namespace
}  // namespace seedance::io
