#include "apps/supervisor_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace seedance::apps {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr TimePoint kStart{1h};
constexpr io::Exit kKilled{.signal = SIGKILL};

struct TextOf {
  std::string operator()(SupervisorPlan::Start) const { return "start"; }
  std::string operator()(SupervisorPlan::Send send) const {
    return "send " + std::to_string(send.signal);
  }
  std::string operator()(const SupervisorPlan::Say& say) const { return "say " + say.line; }
  std::string operator()(SupervisorPlan::End end) const {
    return "end " + std::to_string(end.code);
  }
};

class SupervisorPlanTest : public testing::Test {
 protected:
  SupervisorPlanTest() { EXPECT_THAT(steps(), ElementsAre("start")); }

  std::vector<std::string> steps() {
    std::vector<std::string> out;
    while (const auto step = plan_.next()) out.push_back(std::visit(TextOf{}, *step));
    return out;
  }

  // Lets the next pause pass.
  Duration wait() {
    const Duration waited = plan_.deadline() - now_;
    now_ = plan_.deadline();
    plan_.on_time(now_);
    return waited;
  }

  TimePoint now_ = kStart;
  SupervisorPlan plan_{{}};
};

TEST_F(SupervisorPlanTest, EndsWithAServerThatRefusesToStart) {
  plan_.on_end({.code = 2}, now_);
  EXPECT_THAT(steps(), ElementsAre("end 2"));
}

TEST_F(SupervisorPlanTest, EndsWithAServerThatEndsWell) {
  plan_.on_ready(now_);
  plan_.on_end({}, now_);
  EXPECT_THAT(steps(), ElementsAre("end 0"));
}

TEST_F(SupervisorPlanTest, StartsAKilledServerAgainAtOnce) {
  plan_.on_ready(now_);
  plan_.on_end(kKilled, now_ + 1h);
  EXPECT_THAT(steps(), ElementsAre("say the server died by signal 9; starting it again"));
  EXPECT_EQ(plan_.deadline(), now_ + 1h);
  plan_.on_time(now_ + 1h);
  EXPECT_THAT(steps(), ElementsAre("start"));
  EXPECT_EQ(plan_.deadline(), kNever);
}

TEST_F(SupervisorPlanTest, PausesGrowToALimitAndALongRunForgetsThem) {
  std::vector<Duration> pauses;
  for (int i = 0; i < 8; ++i) {
    plan_.on_ready(now_);
    now_ += 1s;
    plan_.on_end({.code = 1}, now_);
    pauses.push_back(wait());
    EXPECT_EQ(steps().back(), "start");
  }
  EXPECT_THAT(pauses, ElementsAre(0ms, 100ms, 200ms, 400ms, 800ms, 1s, 1s, 1s));
  plan_.on_ready(now_);
  now_ += 10s;
  plan_.on_end({.code = 1}, now_);
  EXPECT_EQ(wait(), 0ms);
  EXPECT_THAT(steps(), ElementsAre("say the server ended with code 1; starting it again", "start"));
  plan_.on_ready(now_);
  plan_.on_end(kKilled, now_);
  EXPECT_THAT(steps(), ElementsAre("say the server died by signal 9; starting it again in 0.1 s"));
}

TEST_F(SupervisorPlanTest, GivesUpAServerThatNeverGetsReady) {
  plan_.on_ready(now_);
  plan_.on_end(kKilled, now_);
  for (int i = 0; i < 4; ++i) {
    wait();
    plan_.on_end({.code = 2}, now_);  // It could start once, so this may pass.
  }
  wait();
  steps();
  plan_.on_end({.code = 2}, now_);
  EXPECT_THAT(steps(),
              ElementsAre("say the server ended with code 2 before it was ready, 5 times in a row",
                          "end 2"));
  EXPECT_EQ(plan_.deadline(), kNever);
}

TEST_F(SupervisorPlanTest, ASignalIsNoExitCode) {
  for (int i = 0; i < 5; ++i) {
    if (i > 0) wait();
    plan_.on_end({.signal = SIGSEGV}, now_);
  }
  EXPECT_EQ(steps().back(), "end 1");
}

TEST_F(SupervisorPlanTest, BeingReadyOnceForgetsFailedStarts) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      plan_.on_end(kKilled, now_);
      wait();
    }
    plan_.on_ready(now_);
    plan_.on_end(kKilled, now_);
    wait();
  }
  EXPECT_EQ(steps().back(), "start");
}

TEST_F(SupervisorPlanTest, PassesOnEverySignalThatStops) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGTERM, now_);
  plan_.on_signal(SIGINT, now_);
  EXPECT_THAT(steps(), ElementsAre("send 15", "send 2"));
  plan_.on_end({}, now_);
  EXPECT_THAT(steps(), ElementsAre("end 0"));
}

TEST_F(SupervisorPlanTest, AStoppedServerIsNotStartedAgain) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGTERM, now_);
  steps();
  plan_.on_end(kKilled, now_);
  EXPECT_THAT(steps(), ElementsAre("say the server died by signal 9", "end 1"));
  EXPECT_EQ(plan_.deadline(), kNever);
}

TEST_F(SupervisorPlanTest, AServerThatIsStoppedBeforeItReadsSignalsEndsWell) {
  plan_.on_signal(SIGTERM, now_);
  steps();
  plan_.on_end({.signal = SIGTERM}, now_);
  EXPECT_EQ(steps().back(), "end 0");
}

TEST_F(SupervisorPlanTest, StopsWhileItWaits) {
  plan_.on_ready(now_);
  plan_.on_end(kKilled, now_);
  steps();
  plan_.on_signal(SIGINT, now_);
  EXPECT_THAT(steps(), ElementsAre("end 0"));
  EXPECT_EQ(plan_.deadline(), kNever);
}

TEST_F(SupervisorPlanTest, AReloadIsTheServersAffair) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGHUP, now_);
  EXPECT_THAT(steps(), ElementsAre("send 1"));
  plan_.on_end(kKilled, now_);
  steps();
  plan_.on_signal(SIGHUP, now_);  // The one that comes reads its settings anyway.
  EXPECT_THAT(steps(), ElementsAre());
  wait();
  EXPECT_THAT(steps(), ElementsAre("start"));
}

TEST_F(SupervisorPlanTest, PutsANewServerInThePlaceOfTheOld) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGUSR2, now_);
  EXPECT_THAT(steps(), ElementsAre("send 12"));
  plan_.on_end({}, now_);
  EXPECT_THAT(steps(), ElementsAre("say starting the server anew", "start"));
  plan_.on_ready(now_);
  plan_.on_end({}, now_);
  EXPECT_THAT(steps(), ElementsAre("end 0"));
}

TEST_F(SupervisorPlanTest, ReplacesAServerHoweverItEnds) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGUSR2, now_);
  steps();
  plan_.on_end(kKilled, now_);
  EXPECT_THAT(steps(), ElementsAre("say the server died by signal 9",
                                   "say starting the server anew", "start"));
}

TEST_F(SupervisorPlanTest, ReplacingEndsAPause) {
  plan_.on_ready(now_);
  plan_.on_end(kKilled, now_);
  steps();
  plan_.on_signal(SIGUSR2, now_);
  EXPECT_THAT(steps(), ElementsAre("start"));
  EXPECT_EQ(plan_.deadline(), kNever);
}

TEST_F(SupervisorPlanTest, StoppingWinsOverReplacing) {
  plan_.on_ready(now_);
  plan_.on_signal(SIGUSR2, now_);
  plan_.on_signal(SIGTERM, now_);
  plan_.on_signal(SIGUSR2, now_);
  EXPECT_THAT(steps(), ElementsAre("send 12", "send 15"));
  plan_.on_end({}, now_);
  EXPECT_THAT(steps(), ElementsAre("end 0"));
}

}  // namespace
}  // namespace seedance::apps
