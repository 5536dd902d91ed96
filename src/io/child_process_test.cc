#include "io/child_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "base/bytes.h"
#include "io/poller.h"
#include "io/signals.h"
#include "io/socket.h"

namespace seedance::io {
namespace {

Result<ChildProcess> shell(const std::string& script) {
  return ChildProcess::spawn({"/bin/sh", "-c", script});
}

// Everything the child says until it closes its end.
std::string read_all(const ChildProcess& child) {
  auto poller = Poller::open();
  EXPECT_TRUE(poller && poller->add(child.socket(), {1}));
  std::string all;
  std::array<std::byte, 4096> buffer;
  for (bool ended = false;;) {
    const Moved moved = receive(child.socket(), buffer);
    all += as_text(Bytes{buffer}.first(moved.bytes));
    if (moved.flow == Moved::Flow::closed) return all;
    if (moved.flow == Moved::Flow::open || ended) continue;
    for (const Ready& ready : poller->wait(kNever)) ended = ended || ready.closed;
  }
}

Exit wait_for_exit(ChildProcess& child) {
  auto poller = Poller::open();
  EXPECT_TRUE(poller && poller->add(child.exit_event(), {1}));
  while (!child.exit()) poller->wait(kNever);
  return *child.exit();
}

TEST(ChildProcess, TalksOverItsSocketAndEndsWithIt) {
  auto child = shell("cat <&3 >&3");
  ASSERT_TRUE(child);
  EXPECT_EQ(send(child->socket(), "hello").bytes, 5U);
  EXPECT_FALSE(child->exit());
  shutdown_send(child->socket());
  EXPECT_EQ(read_all(*child), "hello");
  EXPECT_EQ(wait_for_exit(*child), (Exit{.code = 0}));
}

TEST(ChildProcess, AddsToTheEnvironmentWhatIsNotThere) {
  const auto child = ChildProcess::spawn({"/bin/sh", "-c", "echo $SEEDANCE_ADDED $PATH >&3"},
                                         {"SEEDANCE_ADDED=yes", "PATH=replaced"});
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(*child), std::string{"yes "} + getenv("PATH") + "\n");
}

TEST(ChildProcess, ReportsItsExitCode) {
  auto child = shell("exit 7");
  ASSERT_TRUE(child);
  EXPECT_EQ(wait_for_exit(*child), (Exit{.code = 7}));
  EXPECT_EQ(to_text(*child->exit()), "exited with code 7");
}

TEST(ChildProcess, ReportsTheSignalThatKilledIt) {
  auto child = shell("cat <&3");
  ASSERT_TRUE(child);
  child->kill();
  EXPECT_EQ(wait_for_exit(*child), (Exit{.signal = SIGKILL}));
  EXPECT_EQ(to_text(*child->exit()), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, ItsEndClosesTheSocket) {
  auto child = shell("exit 0");
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(*child), "");
}

TEST(ChildProcess, GetsNoOtherDescriptor) {
  const Fd inherited{::socket(AF_UNIX, SOCK_STREAM, 0)};  // Not close-on-exec.
  auto first = shell("cat <&3");
  auto child = shell(
      "n=0; while [ $n -lt 300 ]; do [ -e /proc/$$/fd/$n ] && echo -n \"$n \" >&3;"
      " n=$((n + 1)); done");
  ASSERT_TRUE(first && child);
  EXPECT_EQ(read_all(*child), "0 1 2 3 ");
}

TEST(ChildProcess, GetsNoBlockedSignals) {
  const auto signals = Signals::open({SIGINT, SIGTERM});
  auto child = shell("kill -TERM $$; exit 3");
  ASSERT_TRUE(signals && child);
  EXPECT_EQ(wait_for_exit(*child), (Exit{.signal = SIGTERM}));
}

TEST(ChildProcess, LeavesNoProcessBehind) {
  pid_t pid = 0;
  {
    auto child = shell("cat <&3");
    ASSERT_TRUE(child);
    pid = child->pid();
    const ChildProcess moved = std::move(*child);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcess, SaysWhichProgramIsMissing) {
  const auto child = ChildProcess::spawn({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error(),
            (Error{Errc::not_found, "cannot start /no/such/program: No such file or directory"}));
}

}  // namespace
}  // namespace seedance::io
