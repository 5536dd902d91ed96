#include "sched/kv_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/random.h"

namespace seedance::sched {
namespace {

using Tokens = std::vector<std::uint32_t>;

TEST(KvCells, ACopyTakesCellsOnlyWhereEachSlotHasItsOwn) {
  for (const bool shared : {false, true}) {
    KvCells cells{2, shared};
    cells.compute(0, 10);
    cells.copy(1, 0, 6);
    cells.compute(0, 5);
    cells.compute(1, 2);
    EXPECT_EQ(cells.count(Tokens{15, 0}), 15);
    EXPECT_EQ(cells.count(Tokens{0, 8}), 8);
    EXPECT_EQ(cells.count(Tokens{15, 8}), shared ? 17 : 23);
    EXPECT_EQ(cells.count(Tokens{4, 7}), shared ? 7 : 11);
  }
}

TEST(KvCells, ACellIsFreeWhenNobodyHoldsIt) {
  KvCells cells{2, true};
  cells.compute(0, 10);
  cells.copy(1, 0, 10);
  cells.cut(0, 3);
  EXPECT_EQ(cells.count(Tokens{3, 10}), 10);
  cells.compute(0, 4);  // Others than those that were cut off.
  EXPECT_EQ(cells.count(Tokens{7, 10}), 14);
  cells.cut(1, 0);
  EXPECT_EQ(cells.count(Tokens{7, 0}), 7);
}

// Against slots that name each of their cells.
TEST(KvCells, CountsEachCellOnceUnderRandomUse) {
  constexpr std::uint32_t kSlots = 5;
  Prng random{11};
  KvCells cells{kSlots, true};
  std::array<std::vector<int>, kSlots> named;
  int names = 0;
  const auto below = [&](std::size_t count) {
    return static_cast<std::uint32_t>(random.below(count));
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::uint32_t slot = below(kSlots);
    const std::uint32_t from = below(kSlots);
    const std::uint32_t kept = below(named[from].size() + 1);
    switch (below(4)) {
      case 0:
        if (from == slot) break;
        cells.copy(slot, from, kept);
        named[slot].assign(named[from].begin(), named[from].begin() + kept);
        break;
      case 1:
        cells.cut(from, kept);
        named[from].resize(kept);
        break;
      default:
        const std::uint32_t more = below(4);
        cells.compute(slot, more);
        for (std::uint32_t at = 0; at < more; ++at) named[slot].push_back(names++);
    }
    Tokens asked;
    std::set<int> held;
    for (const std::vector<int>& each : named) {
      asked.push_back(below(each.size() + 1));
      held.insert(each.begin(), each.begin() + asked.back());
    }
    ASSERT_EQ(cells.count(asked), held.size()) << round;
  }
}

}  // namespace
}  // namespace seedance::sched
