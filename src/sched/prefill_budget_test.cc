#include "sched/prefill_budget.h"

#include <gtest/gtest.h>

namespace seedance::sched {
namespace {

using std::chrono::milliseconds;

constexpr PrefillLimits kLimits{.step_target = milliseconds{50},
                                .stretch = 1.5,
                                .step_max = milliseconds{400},
                                .pause_max = milliseconds{1000},
                                .tokens_min = 16};

// A machine on which a token of a prompt takes 1 ms and each that decodes 2 ms.
void run(PrefillBudget& budget, std::uint32_t decoding, std::uint32_t prompt_tokens) {
  budget.on_step(decoding, prompt_tokens, milliseconds{(2 * decoding) + prompt_tokens});
}

TEST(PrefillBudget, BeginsWithAGuess) {
  EXPECT_EQ(PrefillBudget{kLimits}.tokens(0), 64);
}

TEST(PrefillBudget, FillsAStepToItsTarget) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  run(budget, 10, 0);
  EXPECT_EQ(budget.tokens(10), 30);
}

TEST(PrefillBudget, StretchesStepsThatAreLongAlready) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  run(budget, 60, 0);
  EXPECT_EQ(budget.tokens(60), 60);
}

TEST(PrefillBudget, BoundsAStepThatNobodyDecodesIn) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  EXPECT_EQ(budget.tokens(0), 400);
}

TEST(PrefillBudget, LetsEveryPromptComeToItsEnd) {
  PrefillBudget budget{kLimits};
  budget.on_step(0, 1, milliseconds{1000});
  EXPECT_EQ(budget.tokens(0), 16);
  budget.on_step(5, 0, milliseconds{10});
  EXPECT_EQ(budget.tokens(5), 16);
}

TEST(PrefillBudget, GivesMoreToThoseWhoWaitWhereTheyAreMore) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  run(budget, 10, 0);
  EXPECT_EQ(budget.tokens(10, 10), 30);
  EXPECT_EQ(budget.tokens(10, 30), 130);
  EXPECT_EQ(budget.tokens(10, 900), 400);  // Up to what a step may take besides.
}

// What the steps with both take is found out, too.
TEST(PrefillBudget, LearnsFromMixedSteps) {
  PrefillBudget budget{kLimits};
  run(budget, 10, 0);
  run(budget, 10, 20);
  EXPECT_EQ(budget.tokens(10), 30);
  for (int i = 0; i < 30; ++i) budget.on_step(10, 30, milliseconds{20 + (2 * 30)});
  EXPECT_EQ(budget.tokens(10), 15 + 1);  // A token takes 2 ms now.
}

// However many prompts there are: else what decoding takes would be put down to them.
TEST(PrefillBudget, AsksForAStepWithoutPromptsWhereDecodingIsNotKnown) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  EXPECT_EQ(budget.tokens(60), 0);
  run(budget, 60, 0);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(budget.tokens(60), 60);
    run(budget, 60, 60);
  }
  EXPECT_EQ(budget.tokens(60), 0);
  run(budget, 60, 0);
  EXPECT_EQ(budget.tokens(60), 60);
}

// A machine as above on which 10 decode.
PrefillBudget known() {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  run(budget, 10, 0);
  return budget;
}

void pause(PrefillBudget& budget, std::uint32_t prompt_tokens) {
  budget.on_pause(prompt_tokens, milliseconds{prompt_tokens});
}

TEST(PrefillBudget, PausesForWhatTwoStepsDoNotHold) {
  const PrefillBudget budget = known();
  EXPECT_FALSE(budget.pauses(10, 1, 61));
  EXPECT_TRUE(budget.pauses(10, 1, 62));
  EXPECT_FALSE(budget.pauses(0, 1, 1000));  // Nobody is there who could.
}

TEST(PrefillBudget, PausesOnlyWhereCostsAreKnown) {
  PrefillBudget budget{kLimits};
  EXPECT_FALSE(budget.pauses(10, 1, 1000));
  run(budget, 0, 100);
  EXPECT_FALSE(budget.pauses(10, 1, 1000));
  run(budget, 10, 0);
  EXPECT_TRUE(budget.pauses(10, 1, 1000));
}

TEST(PrefillBudget, BoundsAPauseAndEachOfItsSteps) {
  PrefillBudget budget = known();
  for (const std::uint32_t tokens : {400U, 400U, 200U}) {
    EXPECT_TRUE(budget.pauses(10, 1, 1000));
    EXPECT_EQ(budget.pause_tokens(), tokens);
    pause(budget, tokens);
  }
  EXPECT_FALSE(budget.pauses(10, 1, 1000));
}

// What is left of a prompt does not wait for a step with all, unless it fits into that.
TEST(PrefillBudget, GoesOnWithAPauseToTheEndOfThePrompt) {
  PrefillBudget budget = known();
  pause(budget, 400);
  EXPECT_TRUE(budget.pauses(10, 1, 31));
  EXPECT_FALSE(budget.pauses(10, 1, 30));
}

// So that 99 of 100 tokens are on time.
TEST(PrefillBudget, PausesAgainAfterManySteps) {
  PrefillBudget budget = known();
  pause(budget, 400);
  for (int i = 0; i < 128; ++i) {
    run(budget, 10, 0);
    EXPECT_EQ(budget.pauses(10, 1, 1000), i == 127) << i;
  }
}

// They give everybody a token, at least.
TEST(PrefillBudget, CountsStepsWithGuessesBetweenPauses) {
  PrefillBudget budget = known();
  pause(budget, 400);
  for (int i = 0; i < 128; ++i) budget.on_guessing();
  EXPECT_TRUE(budget.pauses(10, 1, 1000));
}

TEST(PrefillBudget, NeverPausesWhereThatIsForbidden) {
  PrefillLimits limits = kLimits;
  limits.pause_max = {};
  PrefillBudget budget{limits};
  run(budget, 0, 100);
  run(budget, 10, 0);
  EXPECT_FALSE(budget.pauses(10, 1, 1000));
}

TEST(PrefillBudget, GetsOverAStall) {
  PrefillBudget budget{kLimits};
  run(budget, 0, 100);
  budget.on_step(10, 0, std::chrono::minutes{1});
  EXPECT_EQ(budget.tokens(10), 400);  // As much as step_max adds to any step.
  for (int i = 0; i < 40; ++i) run(budget, 10, 0);
  EXPECT_EQ(budget.tokens(10), 29);
  budget.on_step(10, 30, std::chrono::minutes{1});
  EXPECT_GE(budget.tokens(10), 16);
  for (int i = 0; i < 30; ++i) run(budget, 10, 30);
  EXPECT_EQ(budget.tokens(10), 29);
}

}  // namespace
}  // namespace seedance::sched
