#include "llama/child.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace seedance::llama {
namespace {

class FollowParentTest : public testing::Test {
 protected:
  FollowParentTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~FollowParentTest() override {
    for (const int end : ends_) close(end);
  }

  std::array<int, 2> ends_{};
};

using FollowParentDeathTest = FollowParentTest;

constexpr int kWentOn = 7;

void follow_and_go_on(int fd) {
  follow_parent(fd);
  raise(SIGPIPE);
  raise(SIGINT);
  std::_Exit(kWentOn);
}

TEST_F(FollowParentDeathTest, EndsWhereTheParentIsGoneAlready) {
  EXPECT_EQ(write(ends_[1], "unread", 6), 6);
  close(std::exchange(ends_[1], -1));
  EXPECT_EXIT(follow_and_go_on(ends_[0]), testing::ExitedWithCode(0), "");
}

TEST_F(FollowParentDeathTest, GoesOnWhateverATerminalOrAReaderDoes) {
  EXPECT_EQ(write(ends_[1], "unread", 6), 6);
  EXPECT_EXIT(follow_and_go_on(ends_[0]), testing::ExitedWithCode(kWentOn), "");
}

}  // namespace
}  // namespace seedance::llama
