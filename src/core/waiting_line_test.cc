#include "core/waiting_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::core {
namespace {

using enum Priority;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds{1000}};
constexpr Duration kAgeing = seconds{10};

TimePoint at(int second) {
  return kBegin + seconds{second};
}

// In the order in which they go, when all may.
std::vector<std::uint64_t> order(WaitingLine line) {
  std::vector<std::uint64_t> numbers;
  while (const auto first = line.first(batch)) {
    EXPECT_EQ(line.place(*first), 1U);
    numbers.push_back(*first);
    line.leave(*first);
  }
  return numbers;
}

using Order = std::vector<std::uint64_t>;

TEST(WaitingLine, GoesByClassThenByWhoIsDueFirstThenByNumber) {
  WaitingLine line{kAgeing};
  line.enter(1, batch, at(1), kBegin);
  line.enter(2, interactive, at(60), kBegin);
  line.enter(3, interactive, at(60), kBegin);
  line.enter(4, interactive, at(5), kBegin);
  line.enter(5, realtime, at(60), kBegin);
  EXPECT_EQ(order(line), (Order{5, 4, 2, 3, 1}));
  EXPECT_EQ(line.place(1), 5U);
  EXPECT_EQ(line.place(3), 4U);
  EXPECT_EQ(line.size(), 5U);
  EXPECT_EQ(line.size(interactive), 3U);
}

TEST(WaitingLine, KnowsWhoMayGoWhereOthersMayNot) {
  WaitingLine line{kAgeing};
  line.enter(1, batch, at(60), kBegin);
  EXPECT_EQ(line.first(interactive), std::nullopt);
  line.enter(2, interactive, at(60), kBegin);
  EXPECT_EQ(line.first(realtime), std::nullopt);
  EXPECT_EQ(line.first(interactive), 2U);
  line.leave(2);
  EXPECT_EQ(line.first(batch), 1U);
  line.leave(1);
  line.leave(1);
  EXPECT_EQ(line.first(batch), std::nullopt);
  EXPECT_EQ(line.size(), 0U);
}

TEST(WaitingLine, RisesByAClassEachTime) {
  WaitingLine line{kAgeing};
  line.enter(1, batch, at(60), kBegin);
  line.on_time(at(9));
  line.enter(2, interactive, at(70), at(9));
  line.enter(3, realtime, at(71), at(9));
  EXPECT_EQ(order(line), (Order{3, 2, 1}));
  line.on_time(at(10));
  EXPECT_EQ(order(line), (Order{3, 1, 2}));
  line.on_time(at(19));
  EXPECT_EQ(order(line), (Order{2, 3, 1}));
  line.on_time(at(20));
  EXPECT_EQ(order(line), (Order{1, 2, 3}));
  EXPECT_EQ(line.place(3), 3U);
  line.on_time(at(1000));
  EXPECT_EQ(order(line), (Order{1, 2, 3}));
  // They are what they were.
  EXPECT_EQ(line.first(realtime), 3U);
  EXPECT_EQ(line.size(batch), 1U);
}

TEST(WaitingLine, RisesAsOftenAsItIsTimeWhenNobodyLookedForLong) {
  WaitingLine line{kAgeing};
  line.enter(1, batch, at(60), kBegin);
  line.on_time(at(30));
  line.enter(2, realtime, at(90), at(30));
  EXPECT_EQ(order(line), (Order{1, 2}));
}

TEST(WaitingLine, NeverRisesWhereThatIsAsked) {
  WaitingLine line{Duration::zero()};
  line.enter(1, batch, at(60), kBegin);
  line.on_time(at(1'000'000));
  line.enter(2, interactive, at(1'000'060), at(1'000'000));
  EXPECT_EQ(order(line), (Order{2, 1}));
}

TEST(WaitingLine, BeginsAnewWhenItEntersAgain) {
  WaitingLine line{kAgeing};
  line.enter(1, batch, at(60), kBegin);
  line.enter(2, interactive, at(90), kBegin);
  line.on_time(at(9));
  line.enter(1, batch, at(60), at(9));
  line.on_time(at(10));
  EXPECT_EQ(order(line), (Order{2, 1}));
  EXPECT_EQ(line.size(), 2U);
}

// However many of a higher class come, and however soon they are due.
TEST(WaitingLine, NobodyWaitsForEver) {
  WaitingLine line{kAgeing};
  line.enter(0, batch, at(60), kBegin);
  line.enter(1, realtime, at(60), kBegin);
  std::uint64_t number = 1;
  int second = 0;
  for (; second < 1000 && line.first(batch) != 0U; ++second) {
    line.enter(++number, realtime, at(second + 5), at(second));
    line.enter(++number, realtime, at(second + 60), at(second));
    line.leave(*line.first(batch));
    line.on_time(at(second));
  }
  EXPECT_GE(second, 20);
  EXPECT_LE(second, 61);
}

}  // namespace
}  // namespace seedance::core
