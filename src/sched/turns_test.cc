#include "sched/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace seedance::sched {
namespace {

using enum Priority;
using Claims = std::vector<Turns::Claim>;
using Order = std::vector<std::uint32_t>;

Order take(Turns& turns, const Claims& claims, int steps) {
  Order order;
  for (int i = 0; i < steps; ++i) {
    const Turns::Turn turn = turns.next(claims);
    turns.on_taken(turn);
    order.push_back(turn.adapter);
  }
  return order;
}

TEST(Turns, GoRound) {
  Turns turns;
  EXPECT_EQ(take(turns, {{.adapter = 0}, {.adapter = 3}, {.adapter = 1}}, 6),
            (Order{0, 3, 1, 0, 3, 1}));
}

TEST(Turns, WhoComesAnewGoesBeforeThoseWhoHadOne) {
  Turns turns;
  take(turns, {{.adapter = 0}, {.adapter = 1}}, 4);
  EXPECT_EQ(take(turns, {{.adapter = 0}, {.adapter = 1}, {.adapter = 2}}, 3), (Order{2, 0, 1}));
}

TEST(Turns, APromptOfAHigherClassGoesAheadInEverySecondStep) {
  Turns turns;
  const Claims claims{{.adapter = 0, .highest = interactive},
                      {.adapter = 1, .highest = batch},
                      {.adapter = 2, .highest = realtime, .highest_prompt = realtime}};
  take(turns, {claims[2]}, 1);
  EXPECT_EQ(take(turns, claims, 6), (Order{2, 0, 2, 1, 2, 0}));
}

TEST(Turns, APromptOfTheSameClassWaitsAndSoDoesWhoDecodes) {
  Turns turns;
  take(turns, {{.adapter = 1}}, 1);
  EXPECT_EQ(take(turns,
                 {{.adapter = 0, .highest = realtime},
                  {.adapter = 1, .highest = realtime, .highest_prompt = realtime}},
                 3),
            (Order{0, 1, 0}));
  EXPECT_EQ(take(turns, {{.adapter = 0, .highest = batch}, {.adapter = 1, .highest = realtime}}, 4),
            (Order{1, 0, 1, 0}));
}

// However claims come and go: each waits for no more steps than there are others while all
// are of one class, and for no more than twice that whatever they are.
TEST(Turns, NobodyWaitsLongUnderRandomClaims) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Prng random{seed};
    const bool classes = random.below(2) == 0;
    const auto count = static_cast<std::uint32_t>(2 + random.below(5));
    Turns turns;
    std::map<std::uint32_t, std::uint32_t> waits;
    for (int step = 0; step < 500; ++step) {
      Claims claims;
      for (std::uint32_t adapter = 0; adapter < count; ++adapter) {
        if (!waits.contains(adapter) && random.below(3) > 0) continue;
        waits.try_emplace(adapter);
        const Priority highest = classes ? kPriorities.at(random.below(3)) : interactive;
        claims.push_back({.adapter = adapter, .highest = highest});
        if (random.below(2) == 0) claims.back().highest_prompt = highest;
      }
      if (claims.empty()) continue;
      const Turns::Turn turn = turns.next(claims);
      turns.on_taken(turn);
      ASSERT_TRUE(waits.contains(turn.adapter));
      waits.erase(turn.adapter);
      for (auto& [adapter, steps] : waits) {
        ASSERT_LE(++steps, (classes ? 2 : 1) * (count - 1)) << adapter;
      }
    }
  }
}

}  // namespace
}  // namespace seedance::sched
