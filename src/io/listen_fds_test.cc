#include "io/listen_fds.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/bytes.h"
#include "io/poller.h"
#include "io/signals.h"
#include "io/socket.h"

namespace seedance::io {
namespace {

using ::testing::HasSubstr;

constexpr pid_t kSelf = 77;

TEST(ListenFdCount, IsForTheProcessThatIsNamed) {
  EXPECT_EQ(listen_fd_count("77", "3", kSelf), 3U);
  EXPECT_EQ(listen_fd_count("77", "0", kSelf), 0U);
  EXPECT_EQ(listen_fd_count("78", "3", kSelf), 0U);
  EXPECT_EQ(listen_fd_count("78", "nonsense", kSelf), 0U);
  EXPECT_EQ(listen_fd_count(std::nullopt, "3", kSelf), 0U);
  EXPECT_EQ(listen_fd_count("77", std::nullopt, kSelf), 0U);
  EXPECT_EQ(listen_fd_count(std::nullopt, std::nullopt, kSelf), 0U);
}

TEST(ListenFdCount, RefusesWhatIsNoNumberOrTooLarge) {
  for (const char* wrong : {"", "x", "-1", "7 ", "7x", "99999999999999999999"}) {
    const auto pid = listen_fd_count(wrong, "1", kSelf);
    ASSERT_FALSE(pid) << wrong;
    EXPECT_THAT(pid.error().detail, HasSubstr("LISTEN_PID"));
    const auto fds = listen_fd_count("77", wrong, kSelf);
    ASSERT_FALSE(fds) << wrong;
    EXPECT_THAT(fds.error().detail, HasSubstr("LISTEN_FDS"));
  }
  EXPECT_EQ(listen_fd_count("77", std::to_string(kListenFdsMax), kSelf), kListenFdsMax);
  EXPECT_FALSE(listen_fd_count("77", std::to_string(kListenFdsMax + 1), kSelf));
}

// The exit code of a process that is a copy of this one and runs `body`.
template <typename Body>
int in_a_copy(const Body& body) {
  std::fflush(stdout);  // Or both write it.
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void announce(std::size_t count) {
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  setenv("LISTEN_FDNAMES", "web:web", 1);
}

TEST(TakeListenFds, TakesTheSocketsForThisProcessAlone) {
  auto group = Listener::open_group({.host = "127.0.0.1"}, 2);
  ASSERT_TRUE(group);
  EXPECT_EQ(in_a_copy([&] {
              const Fd first{fcntl((*group)[0].fd().get(), F_DUPFD, 100)};
              const Fd second{fcntl((*group)[1].fd().get(), F_DUPFD, 100)};
              dup2(first.get(), kFirstListenFd);
              dup2(second.get(), kFirstListenFd + 1);
              announce(2);
              auto taken = take_listen_fds();
              if (!taken || taken->sockets.size() != 2 || taken->names != "web:web") return 1;
              if (getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES"))
                return 2;
              for (Fd& socket : taken->sockets) {
                if (fcntl(socket.get(), F_GETFD) != FD_CLOEXEC) return 3;
                const auto adopted = Listener::adopt(std::move(socket), {});
                if (!adopted || adopted->port() != group->front().port()) return 4;
              }
              return take_listen_fds()->sockets.empty() ? 0 : 5;
            }),
            0);
}

TEST(TakeListenFds, NamesADescriptorThatIsNotOpen) {
  EXPECT_EQ(in_a_copy([] {
              closefrom(kFirstListenFd);
              announce(1);
              const auto refused = take_listen_fds();
              if (refused) return 1;
              return refused.error().detail == "LISTEN_FDS: 1, but descriptor 3 is not open" ? 0
                                                                                             : 2;
            }),
            0);
}

class StartService : public testing::Test {
 protected:
  // Runs `script` with two listeners; $fd is the number of its socket.
  void start(const std::string& script) {
    auto group = Listener::open_group({.host = "127.0.0.1"}, 2);
    ASSERT_TRUE(group);
    for (Listener& one : *group) listeners_.sockets.push_back(std::move(one).take_fd());
    listeners_.names = "web:web";
    auto started = start_service({"/bin/sh", "-c", script}, listeners_);
    ASSERT_TRUE(started) << started.error().detail;
    process_ = *std::move(started);
  }

  // Everything it says, up to its end.
  std::string said() {
    auto poller = Poller::open();
    EXPECT_TRUE(poller && poller->add(process_.socket, {1}));
    std::string all;
    std::array<std::byte, 4096> buffer;
    for (bool ended = false;;) {
      const Moved moved = receive(process_.socket, buffer);
      all += as_text(Bytes{buffer}.first(moved.bytes));
      if (moved.flow == Moved::Flow::closed) return all;
      if (moved.flow == Moved::Flow::open || ended) continue;
      for (const Ready& ready : poller->wait(kNever)) ended = ended || ready.closed;
    }
  }

  Exit end() {
    auto poller = Poller::open();
    EXPECT_TRUE(poller && poller->add(ended_.fd(), {1}));
    for (;;) {
      if (const auto ended = reap_child()) {
        EXPECT_EQ(ended->pid, process_.pid);
        return ended->exit;
      }
      poller->wait(kNever);
      while (ended_.next()) continue;
    }
  }

  const Signals ended_ = *Signals::open({SIGCHLD, SIGUSR2});
  ListenFds listeners_;
  ServiceProcess process_;
};

TEST_F(StartService, HandsOverSocketsAndSaysSo) {
  start("echo $(($LISTEN_PID == $$)) $LISTEN_FDS $LISTEN_FDNAMES >&5; exit 7");
  EXPECT_EQ(said(), "1 2 web:web\n");
  EXPECT_EQ(end(), (Exit{.code = 7}));
}

TEST_F(StartService, HandsOverNothingElse) {
  const Fd leaked{fcntl(STDERR_FILENO, F_DUPFD, 200)};
  start(
      "n=0; while [ $n -lt 300 ]; do [ -e /proc/$$/fd/$n ] && echo -n \"$n \" >&5;"
      " n=$((n + 1)); done");
  EXPECT_EQ(said(), "0 1 2 3 4 5 ");
  EXPECT_EQ(end(), (Exit{}));
}

TEST_F(StartService, IsAGroupOfItsOwnAndKeepsSignalsForLater) {
  start("read line <&5; echo $(ps -o pgid= -p $$) >&5; kill -USR2 $$; kill -TERM $$; exit 3");
  EXPECT_EQ(send(process_.socket, "go\n").bytes, 3U);
  EXPECT_EQ(said(), fmt::format("{}\n", process_.pid));
  EXPECT_EQ(end(), (Exit{.signal = SIGTERM}));  // Only SIGUSR2 is blocked here.
}

TEST_F(StartService, EndsWhenItsParentDoes) {
  // The copy of this process is killed; what it started says that it got SIGTERM.
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const Fd ours{pipe_ends[0]};
  Fd theirs{pipe_ends[1]};
  EXPECT_EQ(
      in_a_copy([&] {
        dup2(theirs.get(), STDERR_FILENO);
        start("trap 'echo ended >&2; exit' TERM; echo ready >&5; exec 5>&-; while :; do :; done");
        return said() == "ready\n" ? 0 : 1;
      }),
      0);
  theirs.close();
  std::array<char, 16> text{};
  EXPECT_EQ(::read(ours.get(), text.data(), text.size()), 6);
  EXPECT_STREQ(text.data(), "ended\n");
}

TEST_F(StartService, SaysWhatCannotBeRun) {
  testing::internal::CaptureStderr();
  auto started = start_service({"/no/such/program"}, {});
  ASSERT_TRUE(started);
  process_ = *std::move(started);
  EXPECT_EQ(end(), (Exit{.code = 1}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "seedance: cannot run /no/such/program: No such file or directory\n");
}

}  // namespace
}  // namespace seedance::io
