#include "server/child.h"

#include <gtest/gtest.h>

#include "io/clock.h"

namespace seedance::server {
namespace {

constexpr io::Token kSocket{1};
constexpr io::Token kExit{2};

class ChildTest : public testing::Test {
 protected:
  void start(const std::string& script) {
    child_.emplace(std::vector<std::string>{"/bin/sh", "-c", script}, std::vector<std::string>{},
                   *poller_, kSocket, kExit);
    ASSERT_TRUE(child_->start(io::now()));
  }

  // Passes on what the poller says until there is a message or an end.
  std::optional<std::string> next_message() {
    for (;;) {
      if (const auto message = child_->next()) return std::string{as_text(*message)};
      if (auto end = child_->end()) {
        end_ = std::move(end->text);
        cause_ = end->cause;
        return std::nullopt;
      }
      for (const io::Ready& ready : poller_->wait(kNever)) child_->on_ready(ready, io::now());
    }
  }

  void put(std::string_view text) {
    MessageWriter message{child_->outbox()};
    for (const char c : text) message.put(c);
  }

  Result<io::Poller> poller_ = io::Poller::open();
  std::optional<Child> child_;
  std::optional<std::string> end_;
  engine::EndCause cause_ = engine::EndCause::other;
};

TEST_F(ChildTest, CarriesMessagesBothWays) {
  start("cat <&3 >&3");
  put("one");
  put("two");
  child_->flush();
  EXPECT_EQ(next_message(), "one");
  EXPECT_EQ(next_message(), "two");
}

TEST_F(ChildTest, CarriesMoreThanASocketHolds) {
  start("cat <&3 >&3");
  std::string large(std::size_t{4} << 20, 'x');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  put(large);
  child_->flush();
  EXPECT_EQ(next_message(), large);
}

TEST_F(ChildTest, GivesItsLastMessageBeforeItsEnd) {
  start("printf '\\003\\000\\000\\000bye' >&3; exit 2");
  EXPECT_EQ(next_message(), "bye");
  EXPECT_EQ(next_message(), std::nullopt);
  EXPECT_EQ(end_, "exited with code 2");
  EXPECT_FALSE(child_->running());
  EXPECT_EQ(child_->end(), std::nullopt);
}

TEST_F(ChildTest, IsStartedAgainLaterEachTime) {
  start("exit 1");
  EXPECT_EQ(next_message(), std::nullopt);
  const TimePoint first = child_->deadline();
  child_->on_time(first - std::chrono::nanoseconds{1});
  EXPECT_FALSE(child_->running());
  child_->on_time(first);
  EXPECT_TRUE(child_->running());
  EXPECT_EQ(child_->deadline(), kNever);
  const TimePoint before = io::now();
  EXPECT_EQ(next_message(), std::nullopt);
  EXPECT_GE(child_->deadline(), before + std::chrono::milliseconds{200});
}

TEST_F(ChildTest, IsKilledWhenItSendsWhatIsNoMessage) {
  start("printf '\\377\\377\\377\\377' >&3; exec cat <&3");
  EXPECT_EQ(next_message(), std::nullopt);
  EXPECT_EQ(end_, "sent what is no message");
}

TEST_F(ChildTest, IsKilledWhenItClosesItsSocket) {
  start("exec 3>&-; exec sleep 1000");
  EXPECT_EQ(next_message(), std::nullopt);
  EXPECT_EQ(end_, "was killed by signal 9 (Killed)");
}

TEST_F(ChildTest, TellsHowItEnded) {
  const auto cause_of = [this](const std::string& script) {
    start(script);
    EXPECT_EQ(next_message(), std::nullopt);
    return cause_;
  };
  EXPECT_EQ(cause_of("exit 1"), engine::EndCause::other);
  EXPECT_EQ(cause_of("kill -TERM $$"), engine::EndCause::other);
  EXPECT_EQ(cause_of("kill -KILL $$"), engine::EndCause::killed);
  for (const char* signal : {"ABRT", "SEGV", "BUS", "ILL", "FPE"}) {
    EXPECT_EQ(cause_of("ulimit -c 0; kill -" + std::string{signal} + " $$"),
              engine::EndCause::aborted);
  }
}

TEST_F(ChildTest, IsKilledForAReason) {
  start("exec cat <&3");
  child_->kill("said nothing", engine::EndCause::hung);
  EXPECT_EQ(next_message(), std::nullopt);
  EXPECT_EQ(end_, "said nothing");
  EXPECT_EQ(cause_, engine::EndCause::hung);
}

TEST_F(ChildTest, AReplacementIsStartedAtOnce) {
  start("exit 1");
  EXPECT_EQ(next_message(), std::nullopt);
  const TimePoint now = io::now();
  EXPECT_GT(child_->deadline(), now);
  child_->replace({"/bin/sh", "-c", "cat <&3 >&3"}, now);
  EXPECT_EQ(child_->deadline(), now);
  child_->on_time(now);
  put("one");
  child_->flush();
  EXPECT_EQ(next_message(), "one");
}

TEST_F(ChildTest, WhatIsSentToADeadChildIsLost) {
  start("exit 1");
  EXPECT_EQ(next_message(), std::nullopt);
  put("anyone there?");
  child_->flush();
  EXPECT_TRUE(child_->outbox().empty());
}

}  // namespace
}  // namespace seedance::server
