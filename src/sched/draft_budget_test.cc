#include "sched/draft_budget.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace seedance::sched {
namespace {

using std::chrono::microseconds;

constexpr std::array kSure{0.98};

// A model that took so long, in microseconds, for 1, 2, 4, 8 and 16 rows.
DraftBudget measured(const std::vector<int>& took) {
  DraftBudget budget;
  for (std::size_t power = 0; power < took.size(); ++power) {
    for (int i = 0; i < 2; ++i) budget.on_step(1U << power, microseconds{took[power]});
  }
  return budget;
}

TEST(DraftBudget, GuessesNothingBeforeItKnowsWhatDecodingTakes) {
  EXPECT_EQ(DraftBudget{}.choose(1, 16, kSure).rows, 1);
}

TEST(DraftBudget, TakesAllThatARowForNothingAllows) {
  const DraftBudget budget = measured({1000, 1010, 1020, 1030, 1040});
  EXPECT_EQ(budget.choose(1, 16, kSure).rows, 16);
  EXPECT_EQ(budget.choose(1, 9, kSure).rows, 8);
  EXPECT_EQ(budget.choose(1, 1, kSure).rows, 1);
  EXPECT_EQ(budget.choose(1, 16, {}).rows, 1);
}

TEST(DraftBudget, TakesNoneWhereARowCostsAToken) {
  EXPECT_EQ(measured({1000, 2000, 4000, 8000, 16000}).choose(1, 16, kSure).rows, 1);
}

// As of small models on processors, which multiply by one row in another way.
TEST(DraftBudget, GoesBeyondTheDearSecondRow) {
  const DraftBudget budget = measured({1000, 2500, 3300, 4800, 7800});
  EXPECT_EQ(budget.choose(1, 16, kSure).rows, 16);
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 1);
  EXPECT_EQ(budget.choose(1, 16, std::array{0.7}).rows, 1);
}

TEST(DraftBudget, AsksForNoMoreThanTheChancesAreWorth) {
  const DraftBudget budget = measured({1000, 1200, 1600, 2400, 4000});
  EXPECT_EQ(budget.choose(1, 16, std::array{0.1}).rows, 1);
  EXPECT_EQ(budget.choose(1, 16, std::array{0.4}).rows, 2);
  EXPECT_EQ(budget.choose(1, 16, std::array{0.8}).rows, 4);
}

// All have as many rows, whether or not there is a guess for them.
TEST(DraftBudget, CountsTheRowsOfThoseWithoutAGuess) {
  const DraftBudget budget = measured({1000, 1100, 1200, 1800, 3000});
  EXPECT_EQ(budget.choose(4, 2, std::array{0.9, 0.9, 0.9, 0.9}).rows, 2);
  EXPECT_EQ(budget.choose(4, 2, std::array{0.9, 0.9}).rows, 1);
}

TEST(DraftBudget, CountsWhatItTakesToGuess) {
  const DraftBudget budget = measured({1000, 1010, 1020, 1030, 1040});
  EXPECT_EQ(budget.choose(1, 16, kSure, 60'000).rows, 16);
  EXPECT_EQ(budget.choose(1, 16, std::array{0.8}, 60'000).rows, 8);
  EXPECT_EQ(budget.choose(1, 16, std::array{0.8}, 200'000).rows, 4);
  EXPECT_EQ(budget.choose(1, 16, kSure, 1'000'000).rows, 1);
}

TEST(DraftBudget, SaysHowMuchFasterThatIs) {
  const DraftBudget budget = measured({1000, 1200});
  EXPECT_NEAR(budget.choose(1, 2, std::array{0.8}, 300'000).speed, 1.8 / 1.5, 1e-9);
  EXPECT_EQ(budget.choose(1, 2, std::array{0.8}, 900'000).speed, 1);
}

TEST(DraftBudget, MeasuresWhatNobodyKnows) {
  DraftBudget budget = measured({1000});
  EXPECT_EQ(budget.choose(1, 2, std::array{0.5}).rows, 2);
  budget.on_step(2, microseconds{9000});
  EXPECT_EQ(budget.choose(1, 2, std::array{0.5}).rows, 2) << "it may have been an accident";
  budget.on_step(2, microseconds{9000});
  EXPECT_EQ(budget.choose(1, 2, std::array{0.5}).rows, 1);
}

// A step in which the machine was asleep must not decide for ever.
TEST(DraftBudget, LearnsAgainWhatItLearnedLongAgo) {
  DraftBudget budget = measured({1000, 90'000});
  for (int i = 0; i < 1000; ++i) budget.on_step(1, microseconds{1000});
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 1);
  for (int i = 0; i < 40; ++i) budget.on_step(1, microseconds{1000});
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 2);
  for (int i = 0; i < 1040; ++i) budget.on_step(2, microseconds{1100});
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 1)
      << "what decoding takes by itself is told again, too";
}

TEST(DraftBudget, FollowsWhatChanges) {
  DraftBudget budget = measured({1000, 1100});
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 2);
  for (int i = 0; i < 100; ++i) budget.on_step(2, microseconds{2000});
  EXPECT_EQ(budget.choose(1, 2, kSure).rows, 1);
}

}  // namespace
}  // namespace seedance::sched
