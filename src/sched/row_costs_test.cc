#include "sched/row_costs.h"

#include <gtest/gtest.h>

namespace seedance::sched {
namespace {

using std::chrono::nanoseconds;

TEST(RowCosts, KnowsACostThatTwoStepsTold) {
  RowCosts costs;
  EXPECT_EQ(costs.of(1), 0);
  costs.on_step(1, nanoseconds{900});
  EXPECT_EQ(costs.of(1), 0);
  costs.on_step(1, nanoseconds{500});
  EXPECT_EQ(costs.of(1), 500) << "one of them was an accident";
}

TEST(RowCosts, KnowsPowersOfTwoApart) {
  RowCosts costs;
  for (int i = 0; i < 2; ++i) costs.on_step(4, nanoseconds{400});
  EXPECT_EQ(costs.of(3), 400);
  EXPECT_EQ(costs.of(4), 400);
  EXPECT_EQ(costs.of(2), 0);
  EXPECT_EQ(costs.of(5), 0);
}

TEST(RowCosts, FollowsWhatGetsFasterSooner) {
  RowCosts costs;
  for (int i = 0; i < 2; ++i) costs.on_step(1, nanoseconds{1000});
  costs.on_step(1, nanoseconds{2000});
  const double risen = costs.of(1) - 1000;
  EXPECT_GT(risen, 0);
  costs.on_step(1, nanoseconds{0});
  EXPECT_LT(costs.of(1), 1000 - risen);
}

TEST(RowCosts, ForgetsWhatWasLearnedLongAgo) {
  RowCosts costs;
  for (int i = 0; i < 2; ++i) costs.on_step(2, nanoseconds{700});
  for (int i = 0; i < 1023; ++i) costs.on_step(1, nanoseconds{1});
  EXPECT_EQ(costs.of(2), 700);
  costs.on_step(1, nanoseconds{1});
  EXPECT_EQ(costs.of(2), 0);
}

}  // namespace
}  // namespace seedance::sched
