#include "io/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "io/poller.h"

namespace seedance::io {
namespace {

TEST(Signals, AreReadInsteadOfKilling) {
  auto poller = Poller::open();
  const auto signals = Signals::open({SIGINT, SIGTERM, SIGUSR2});
  ASSERT_TRUE(signals && poller->add(signals->fd(), {1}));
  EXPECT_EQ(signals->next(), std::nullopt);
  raise(SIGTERM);
  EXPECT_EQ(poller->wait(kNever).size(), 1U);
  EXPECT_EQ(signals->next(), SIGTERM);
  raise(SIGUSR2);
  EXPECT_EQ(signals->next(), SIGUSR2);
  EXPECT_EQ(signals->next(), std::nullopt);
}

TEST(Signals, RestoreWhatWasBefore) {
  {
    const auto signals = Signals::open({SIGTERM});
    ASSERT_TRUE(signals);
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

TEST(Signals, ThatWaitedAreReadToo) {
  const auto outer = Signals::open({SIGHUP});
  raise(SIGHUP);
  const auto inner = Signals::open({SIGHUP});
  ASSERT_TRUE(outer && inner);
  EXPECT_EQ(inner->next(), SIGHUP);
}

TEST(SignalsBlocked, ReachNoThreadThatWasStartedMeanwhile) {
  const auto blocks = [](int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
  };
  std::atomic<bool> all_blocked = false;
  {
    const SignalsBlocked blocked;
    std::thread{[&] { all_blocked = blocks(SIGHUP) && blocks(SIGTERM); }}.join();
  }
  EXPECT_TRUE(all_blocked);
  EXPECT_FALSE(blocks(SIGTERM));
}

// Puts `fd` in the place of standard error while it lives.
class StandardError {
 public:
  explicit StandardError(const Fd& fd) : saved_(dup(STDERR_FILENO)) {
    dup2(fd.get(), STDERR_FILENO);
  }
  ~StandardError() { dup2(saved_.get(), STDERR_FILENO); }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  const Fd saved_;
};

TEST(Signals, AHangUpOfTheTerminalIsAStop) {
  Fd terminal{posix_openpt(O_RDWR | O_NOCTTY)};
  ASSERT_TRUE(terminal.is_open());
  ASSERT_EQ(grantpt(terminal.get()), 0);
  ASSERT_EQ(unlockpt(terminal.get()), 0);
  const Fd ours{::open(ptsname(terminal.get()), O_RDWR | O_NOCTTY)};
  ASSERT_TRUE(ours.is_open());
  const StandardError error{ours};
  const auto signals = Signals::open({SIGHUP, SIGTERM});
  ASSERT_TRUE(signals);
  raise(SIGHUP);
  EXPECT_EQ(signals->next(), SIGHUP);
  terminal.close();
  raise(SIGHUP);
  EXPECT_EQ(signals->next(), SIGTERM);
}

}  // namespace
}  // namespace seedance::io
