#include "io/poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/socket.h"

namespace seedance::io {
namespace {

struct Pair {
  Fd ours;
  Fd theirs;
};

Pair open_pair() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {Fd{fds[0]}, Fd{fds[1]}};
}

class PollerTest : public testing::Test {
 protected:
  // What is ready now.
  std::vector<Ready> poll() {
    const auto ready = poller_->wait(TimePoint{});
    return {ready.begin(), ready.end()};
  }

  Result<Poller> poller_ = Poller::open();
};

TEST_F(PollerTest, ReportsWhatChangedOnce) {
  const Pair pair = open_pair();
  ASSERT_TRUE(poller_->add(pair.ours, {7}));
  auto ready = poll();
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].token, Token{7});
  EXPECT_TRUE(ready[0].writable);
  EXPECT_FALSE(ready[0].readable);
  EXPECT_TRUE(poll().empty());

  EXPECT_EQ(send(pair.theirs, "x").bytes, 1U);
  ready = poll();
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_TRUE(ready[0].readable);
  EXPECT_FALSE(ready[0].closed);
  EXPECT_TRUE(poll().empty());
}

TEST_F(PollerTest, ReportsThatThePeerIsGone) {
  Pair pair = open_pair();
  ASSERT_TRUE(poller_->add(pair.ours, {7}));
  poll();
  pair.theirs.close();
  const auto ready = poll();
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_TRUE(ready[0].closed);
  std::array<std::byte, 1> buffer;
  EXPECT_EQ(receive(pair.ours, buffer).flow, Moved::Flow::closed);
}

TEST_F(PollerTest, ReportsAgainThatABlockedSocketTakesMore) {
  const Pair pair = open_pair();
  ASSERT_TRUE(poller_->add(pair.ours, {7}));
  poll();
  const std::string block(1 << 16, 'x');
  std::size_t sent = 0;
  Moved moved;
  do {
    moved = send(pair.ours, block);
    sent += moved.bytes;
  } while (moved.flow == Moved::Flow::open);
  EXPECT_EQ(moved.flow, Moved::Flow::blocked);
  EXPECT_TRUE(poll().empty());

  std::vector<std::byte> buffer(sent);
  std::size_t got = 0;
  while (got < sent) got += receive(pair.theirs, buffer).bytes;
  const auto ready = poll();
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_TRUE(ready[0].writable);
}

TEST_F(PollerTest, WaitsUntilTheTimeAndNotLess) {
  const TimePoint until = now() + std::chrono::microseconds{1500};
  EXPECT_TRUE(poller_->wait(until).empty());
  EXPECT_GE(now(), until);
}

TEST_F(PollerTest, ForgetsAClosedDescriptor) {
  Pair pair = open_pair();
  ASSERT_TRUE(poller_->add(pair.ours, {7}));
  pair.ours.close();
  pair.theirs.close();
  EXPECT_TRUE(poll().empty());
}

TEST_F(PollerTest, IsWokenOnceForManyWakesAndAgainLater) {
  auto wakeup = Wakeup::open();
  ASSERT_TRUE(wakeup && wakeup->attach(*poller_, {3}));
  poll();
  for (int round = 0; round < 2; ++round) {
    wakeup->wake();
    wakeup->wake();
    const auto ready = poll();
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].token, Token{3});
    EXPECT_TRUE(ready[0].readable);
    EXPECT_TRUE(poll().empty());
  }
}

TEST_F(PollerTest, IsWokenFromAnotherThread) {
  auto wakeup = Wakeup::open();
  ASSERT_TRUE(wakeup && wakeup->attach(*poller_, {3}));
  poll();
  const std::jthread other{[&] { wakeup->wake(); }};
  EXPECT_EQ(poller_->wait(kNever).size(), 1U);
}

}  // namespace
}  // namespace seedance::io
