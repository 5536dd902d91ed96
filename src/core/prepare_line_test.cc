#include "core/prepare_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace seedance::core {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> all_of(PrepareLine line) {
  std::vector<std::uint64_t> numbers;
  while (const auto first = line.first()) {
    numbers.push_back(first->number);
    line.take();
  }
  return numbers;
}

TEST(PrepareLine, TenantsTakeTurns) {
  PrepareLine line;
  for (std::uint64_t number = 1; number <= 4; ++number) line.enter("a", {.number = number});
  line.take();
  line.enter("b", {.number = 5});
  line.enter("b", {.number = 6});
  line.enter("c", {.number = 7});
  EXPECT_THAT(all_of(std::move(line)), ElementsAre(5, 7, 2, 6, 3, 4));
}

// Whoever had its turn and comes again has the next one behind all who had none.
TEST(PrepareLine, ATurnIsRememberedWhileOthersMayCome) {
  PrepareLine line;
  line.enter("a", {.number = 1});
  line.take();
  line.enter("a", {.number = 2});
  line.enter("b", {.number = 3});
  line.enter("c", {.number = 4});
  EXPECT_EQ(line.first()->number, 3U);
  line.take();
  line.enter("b", {.number = 5});
  EXPECT_THAT(all_of(std::move(line)), ElementsAre(4, 2, 5));
}

// One that asks for one thing after the other does not keep those from their turns who wait.
TEST(PrepareLine, NobodyIsOvertakenForEver) {
  PrepareLine line;
  line.enter("a", {.number = 1});
  line.enter("a", {.number = 2});
  std::vector<std::uint64_t> taken;
  for (std::uint64_t number = 10; number < 14; ++number) {
    line.enter("b", {.number = number});
    taken.push_back(line.first()->number);
    line.take();
  }
  EXPECT_THAT(taken, ElementsAre(1, 10, 2, 11));
}

TEST(PrepareLine, OfOneTenantTheOldestGoesFirst) {
  PrepareLine line;
  for (const std::uint64_t number : {3U, 4U, 1U}) line.enter("a", {.number = number});
  EXPECT_THAT(all_of(std::move(line)), ElementsAre(1, 3, 4));
}

TEST(PrepareLine, WhoLeavesIsNotThereAndTakesNoTurn) {
  PrepareLine line;
  line.enter("a", {.number = 1, .bytes = 10});
  line.enter("b", {.number = 2, .bytes = 20});
  line.enter("a", {.number = 3, .bytes = 30});
  EXPECT_EQ(line.size(), 3U);
  EXPECT_EQ(line.bytes(), 60U);
  line.leave("b", 2);
  line.leave("b", 2);
  line.leave("a", 2);
  line.leave("c", 1);
  line.leave("a", 1);
  EXPECT_EQ(line.size(), 1U);
  EXPECT_EQ(line.bytes(), 30U);
  EXPECT_EQ(line.first(), (PrepareLine::Request{.number = 3, .bytes = 30}));
  line.take();
  EXPECT_EQ(line.first(), std::nullopt);
  EXPECT_EQ(line.bytes(), 0U);
}

}  // namespace
}  // namespace seedance::core
