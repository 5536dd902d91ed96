#include "io/timer.h"

#include <gtest/gtest.h>

#include <chrono>

#include "io/clock.h"

namespace seedance::io {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;

TEST(Timer, WakesWhenItsTimeHasComeAndNotBefore) {
  auto poller = Poller::open();
  auto timer = Timer::open();
  ASSERT_TRUE(timer && timer->attach(*poller, {7}));
  for (int i = 0; i < 3; ++i) {
    const TimePoint at = now() + microseconds{300};
    timer->set(at);
    const auto ready = poller->wait(kNever);
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].token, Token{7});
    EXPECT_TRUE(ready[0].readable);
    EXPECT_GE(now(), at);
  }
}

TEST(Timer, KeepsOnlyTheLastTime) {
  auto poller = Poller::open();
  auto timer = Timer::open();
  ASSERT_TRUE(timer && timer->attach(*poller, {7}));
  poller->wait(now());
  timer->set(now() + hours{1});
  timer->set(kNever);
  EXPECT_TRUE(poller->wait(now()).empty());
  timer->set(now() - hours{1});
  EXPECT_EQ(poller->wait(kNever).size(), 1U);
}

}  // namespace
}  // namespace seedance::io
