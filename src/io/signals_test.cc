#include "io/signals.h"

#include <gtest/gtest.h>

#include "io/poller.h"

namespace seedance::io {
namespace {

TEST(StopSignals, AreReadInsteadOfKilling) {
  auto poller = Poller::open();
  const auto signals = StopSignals::open();
  ASSERT_TRUE(signals && poller->add(signals->fd(), {1}));
  EXPECT_EQ(signals->next(), std::nullopt);
  raise(SIGTERM);
  EXPECT_EQ(poller->wait(kNever).size(), 1U);
  EXPECT_EQ(signals->next(), SIGTERM);
  raise(SIGINT);
  EXPECT_EQ(signals->next(), SIGINT);
  EXPECT_EQ(signals->next(), std::nullopt);
}

TEST(StopSignals, RestoreWhatWasBefore) {
  {
    const auto signals = StopSignals::open();
    ASSERT_TRUE(signals);
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

}  // namespace
}  // namespace seedance::io
