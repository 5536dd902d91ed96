#include "engine/fallback.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

using Move = Fallback::Move;

constexpr std::uint32_t kGivenUpAfter = 4;

// Runs, and ends so.
Move die_running(Fallback& fallback, EndCause cause) {
  fallback.on_ready();
  return fallback.on_end(cause);
}

TEST(Fallback, StepsDownAtOnceForAnEngineThatHasNoMemoryOrAbortsWhileItLoads) {
  Fallback fallback{4, kGivenUpAfter};
  EXPECT_EQ(fallback.on_end(EndCause::out_of_memory), Move::down);
  EXPECT_EQ(fallback.rung(), 1U);
  EXPECT_EQ(fallback.on_end(EndCause::aborted), Move::down);
  EXPECT_EQ(fallback.rung(), 2U);
  EXPECT_EQ(die_running(fallback, EndCause::out_of_memory), Move::down);
  EXPECT_EQ(fallback.rung(), 3U);
}

TEST(Fallback, GivesOneThatIsKilledOrHangsWhileItLoadsAnotherTry) {
  Fallback fallback{2, kGivenUpAfter};
  EXPECT_EQ(fallback.on_end(EndCause::killed), Move::stay);
  EXPECT_EQ(fallback.on_end(EndCause::hung), Move::down);
  EXPECT_EQ(fallback.on_end(EndCause::hung), Move::stay);
  fallback.on_ready();  // It could load.
  fallback.on_work();
  EXPECT_EQ(fallback.on_end(EndCause::other), Move::stay);
  EXPECT_EQ(fallback.on_end(EndCause::hung), Move::stay);
  EXPECT_EQ(fallback.rung(), 1U);
}

TEST(Fallback, StepsDownAfterThreeDeathsWithoutAToken) {
  for (const EndCause cause : {EndCause::aborted, EndCause::hung, EndCause::killed}) {
    Fallback fallback{1, kGivenUpAfter};
    EXPECT_EQ(die_running(fallback, cause), Move::stay);
    EXPECT_EQ(die_running(fallback, cause), Move::stay);
    EXPECT_EQ(die_running(fallback, cause), Move::down);
  }
}

TEST(Fallback, ATokenForgivesDeaths) {
  Fallback fallback{1, kGivenUpAfter};
  for (int i = 0; i < 50; ++i) {
    fallback.on_ready();
    fallback.on_work();
    EXPECT_EQ(fallback.on_end(EndCause::killed), Move::stay);
    EXPECT_EQ(die_running(fallback, EndCause::aborted), Move::stay);
  }
  EXPECT_EQ(fallback.rung(), 0U);
}

TEST(Fallback, ABrokenFileIsNoMatterOfSettings) {
  Fallback fallback{1, kGivenUpAfter};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fallback.on_end(EndCause::refused), Move::stay);
    EXPECT_EQ(die_running(fallback, EndCause::other), Move::stay);
  }
}

TEST(Fallback, BeginsAnewWhereNotEvenTheLastRungCanBeLoaded) {
  Fallback fallback{2, kGivenUpAfter};
  for (int walk = 0; walk < 3; ++walk) {
    EXPECT_EQ(fallback.on_end(EndCause::out_of_memory), Move::down);
    EXPECT_EQ(fallback.on_end(EndCause::aborted), Move::down);
    EXPECT_EQ(fallback.rung(), 2U);
    EXPECT_EQ(fallback.on_end(EndCause::killed), Move::stay);
    EXPECT_EQ(fallback.on_end(EndCause::killed), Move::spent);
    EXPECT_EQ(fallback.rung(), 0U);
  }
  fallback.on_ready();  // With the settings of the start.
  EXPECT_EQ(fallback.rung(), 0U);
}

// What a request did that kills engines alone is undone once it was found out.
TEST(Fallback, GoesBackWhenNoRungHelped) {
  Fallback fallback{2, kGivenUpAfter};
  for (int i = 0; i < 6; ++i) (void)die_running(fallback, EndCause::aborted);
  EXPECT_EQ(fallback.rung(), 2U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(die_running(fallback, EndCause::aborted), Move::stay);
  EXPECT_EQ(die_running(fallback, EndCause::aborted), Move::back);
  EXPECT_EQ(fallback.rung(), 0U);
}

TEST(Fallback, StaysWhereItHelped) {
  Fallback fallback{1, kGivenUpAfter};
  for (int i = 0; i < 3; ++i) (void)die_running(fallback, EndCause::aborted);
  for (int i = 0; i < 20; ++i) {
    fallback.on_ready();
    fallback.on_work();
    EXPECT_EQ(fallback.on_end(EndCause::killed), Move::stay);
  }
  EXPECT_EQ(fallback.rung(), 1U);
}

TEST(Fallback, WithoutAChainNothingChanges) {
  Fallback fallback{0, kGivenUpAfter};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fallback.on_end(EndCause::out_of_memory), Move::stay);
    EXPECT_EQ(die_running(fallback, EndCause::hung), Move::stay);
  }
  EXPECT_EQ(fallback.rung(), 0U);
}

}  // namespace
}  // namespace seedance::engine
