#include "sched/kv_slots.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace seedance::sched {
namespace {

constexpr KvLimits kThree{.count = 3, .reuse_min = 4, .dense = true};

using Changes = std::vector<KvChange>;

// `shared` tokens that all have, then `own` ones.
std::vector<TokenId> tokens(std::uint32_t shared, std::uint32_t own = 0, std::int32_t who = 1) {
  std::vector<TokenId> tokens;
  for (std::uint32_t at = 0; at < shared; ++at) tokens.push_back({static_cast<std::int32_t>(at)});
  for (std::uint32_t at = 0; at < own; ++at) {
    tokens.push_back({(who * 1000) + static_cast<std::int32_t>(at)});
  }
  return tokens;
}

// Enters and computes all.
Slot enter(KvSlots& slots, std::vector<TokenId> all) {
  const auto count = static_cast<std::uint32_t>(all.size());
  const auto slot = slots.enter(std::move(all));
  EXPECT_TRUE(slot);
  slots.on_computed(*slot, count - slots.computed(*slot));
  return *slot;
}

TEST(KvSlots, GivesTheLowestSlotUntilAllAreUsed) {
  KvSlots slots{kThree};
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(enter(slots, tokens(0, 9, int(i))), Slot{i});
  EXPECT_EQ(slots.enter(tokens(1)), std::nullopt);
  slots.leave({1});
  EXPECT_EQ(slots.enter(tokens(1)), Slot{1});
}

TEST(KvSlots, CopiesThePrefixOfWhoeverHasMost) {
  KvSlots slots{kThree};
  enter(slots, tokens(6, 5));
  enter(slots, tokens(8, 5, 2));
  slots.take_changes();
  slots.take_copied();
  const auto slot = slots.enter(tokens(10, 5, 3));
  EXPECT_EQ(slot, Slot{2});
  EXPECT_EQ(slots.computed(*slot), 8);
  EXPECT_EQ(slots.reused(*slot), 8);
  EXPECT_EQ(slots.take_changes(), (Changes{{{2}, {1}, 8}}));
  EXPECT_EQ(slots.take_copied(), 13);
}

// All that a slot holds is copied, of which the rest is thrown away.
TEST(KvSlots, ComputesAPrefixAgainThatWouldTakeLongerToCopy) {
  KvSlots slots{kThree};
  enter(slots, tokens(4, 100));
  EXPECT_EQ(slots.reused(enter(slots, tokens(4, 9, 2))), 0);
  EXPECT_FALSE(slots.comes_soon(tokens(4, 9, 3)));
  EXPECT_EQ(slots.reused(*slots.enter(tokens(4, 9, 3))), 4);  // Of the smaller one.
  EXPECT_EQ(slots.take_copied(), 13);
}

TEST(KvSlots, RatherUsesWhatLiesInPlace) {
  KvSlots slots{{.count = 4, .reuse_min = 4, .dense = true}};
  for (int who = 1; who <= 3; ++who) enter(slots, tokens(8, 1, who));
  slots.leave({1});
  slots.take_changes();
  EXPECT_EQ(slots.enter(tokens(8, 9, 4)), Slot{1});
  EXPECT_EQ(slots.take_changes(), (Changes{{{1}, {1}, 8}}));
}

TEST(KvSlots, LeavesTheLastTokenToBeComputed) {
  KvSlots slots{kThree};
  enter(slots, tokens(8));
  EXPECT_EQ(slots.computed(*slots.enter(tokens(8))), 7);
}

TEST(KvSlots, GoesOnInPlace) {
  KvSlots slots{kThree};
  slots.leave(enter(slots, tokens(8, 2)));
  slots.take_changes();
  EXPECT_EQ(slots.enter(tokens(8, 5)), Slot{0});
  EXPECT_EQ(slots.computed({0}), 10);
  EXPECT_TRUE(slots.take_changes().empty());
}

TEST(KvSlots, MovesWhatMayBeWantedOutOfTheWay) {
  KvSlots slots{kThree};
  slots.leave(enter(slots, tokens(0, 9, 1)));
  EXPECT_EQ(enter(slots, tokens(0, 9, 2)), Slot{0});
  EXPECT_EQ(slots.take_changes(), (Changes{{{2}, {0}, 9}, {{0}, {0}, 0}}));
  EXPECT_EQ(slots.take_copied(), 9);
  EXPECT_EQ(slots.enter(tokens(0, 12, 1)), Slot{1});  // And takes it up again.
  EXPECT_EQ(slots.take_changes(), (Changes{{{1}, {2}, 9}, {{2}, {2}, 0}}));
}

// Two conversations that begin alike: the second one must not cost the first its end.
TEST(KvSlots, KeepsTheEndOfWhatIsUsedFromTheBeginning) {
  KvSlots slots{kThree};
  slots.leave(enter(slots, tokens(8, 20, 1)));
  EXPECT_EQ(enter(slots, tokens(8, 20, 2)), Slot{0});
  EXPECT_EQ(slots.take_changes(), (Changes{{{2}, {0}, 28}, {{0}, {0}, 8}}));
}

TEST(KvSlots, GivesUpWhatWasNotUsedForLongest) {
  KvSlots slots{kThree};
  for (int who = 1; who <= 3; ++who) enter(slots, tokens(0, 9, who));
  for (const std::uint32_t slot : {1U, 0U, 2U}) slots.leave({slot});
  slots.take_changes();
  enter(slots, tokens(0, 9, 4));  // In slot 0, whose content goes where the oldest was.
  EXPECT_EQ(slots.take_changes(), (Changes{{{1}, {0}, 9}, {{0}, {0}, 0}}));
  EXPECT_TRUE(slots.evict());
  EXPECT_EQ(slots.take_changes(), (Changes{{{1}, {1}, 0}}));
  EXPECT_TRUE(slots.evict());
  EXPECT_FALSE(slots.evict());
}

// Nothing is given up as long as there is room.
TEST(KvSlots, CountsWhatIsUsedAgainAndWhatGivesWay) {
  KvSlots slots{kThree};
  for (int who = 1; who <= 3; ++who) slots.leave(enter(slots, tokens(8, 10, who)));
  EXPECT_EQ(slots.take_counts(), (KvCounts{.asked = 54, .reused = 16, .evictions = 0}));
  EXPECT_EQ(slots.use(), (KvUse{.active = 0, .pinned = 8, .cached = 46}));
  enter(slots, tokens(8, 20, 4));
  EXPECT_EQ(slots.take_counts(), (KvCounts{.asked = 28, .reused = 8, .evictions = 1}));
  EXPECT_EQ(slots.use(), (KvUse{.active = 28, .pinned = 8, .cached = 28}));
  enter(slots, tokens(0, 5, 5));
  enter(slots, tokens(0, 5, 6));
  EXPECT_EQ(slots.take_counts(), (KvCounts{.asked = 10, .reused = 0, .evictions = 2}));
  EXPECT_EQ(slots.use(), (KvUse{.active = 38, .cached = 0}));
}

TEST(KvSlots, CountsCellsThatManyShareOnce) {
  KvSlots slots{{.count = 3, .reuse_min = 4, .dense = false}};
  const Slot first = enter(slots, tokens(8, 10, 1));
  const Slot second = enter(slots, tokens(8, 20, 2));
  EXPECT_EQ(slots.use(), (KvUse{.active = 38, .cached = 0}));
  slots.leave(first);
  EXPECT_EQ(slots.use(), (KvUse{.active = 28, .cached = 10}));
  slots.leave(second);
  EXPECT_EQ(slots.use(), (KvUse{.active = 0, .pinned = 8, .cached = 30}));
  EXPECT_TRUE(slots.evict());  // The second, whose beginning the first has.
  EXPECT_EQ(slots.use(), (KvUse{.active = 0, .pinned = 8, .cached = 10}));
  EXPECT_TRUE(slots.evict());  // The end of the first.
  EXPECT_EQ(slots.use(), (KvUse{.active = 0, .pinned = 8, .cached = 0}));
  EXPECT_TRUE(slots.evict());
  EXPECT_EQ(slots.use(), KvUse{});
  EXPECT_FALSE(slots.evict());
  EXPECT_EQ(slots.take_counts().evictions, 3U);
}

// Many that come once cost nobody the system prompt that two had.
TEST(KvSlots, WhatSeveralSharedOutlivesWhatOneHad) {
  for (const bool dense : {true, false}) {
    KvSlots slots{{.count = 4, .reuse_min = 4, .dense = dense}};
    for (int who = 1; who <= 2; ++who) slots.leave(enter(slots, tokens(8, 10, who)));
    EXPECT_EQ(slots.use().pinned, 8U);
    for (int who = 3; who <= 20; ++who) slots.leave(enter(slots, tokens(0, 9, who)));
    EXPECT_EQ(slots.reused(*slots.enter(tokens(8, 10, 21))), 8);
  }
}

// A conversation that goes on is one, however many turns it has.
TEST(KvSlots, PinsNothingThatOneGoesOnWith) {
  KvSlots slots{kThree};
  for (std::uint32_t own = 10; own < 60; own += 10) slots.leave(enter(slots, tokens(8, own)));
  EXPECT_EQ(slots.use().pinned, 0U);
}

TEST(KvSlots, PinsAPrefixOnceHoweverManyShareIt) {
  KvSlots slots{{.count = 8, .reuse_min = 4, .dense = true}};
  for (int who = 1; who <= 8; ++who) slots.leave(enter(slots, tokens(8, 10, who)));
  EXPECT_EQ(slots.use().pinned, 8U);
}

TEST(KvSlots, PinsAtMostHalfOfTheSlotsAndThoseThatWereWantedLast) {
  KvSlots slots{{.count = 4, .reuse_min = 4, .dense = false}};
  const auto ask = [&](std::int32_t prompt, std::int32_t who) {
    std::vector<TokenId> all(8, TokenId{-prompt});
    for (std::int32_t at = 0; at < 9; ++at) all.push_back({(who * 1000) + at});
    const Slot slot = enter(slots, std::move(all));
    slots.leave(slot);
    return slots.reused(slot);
  };
  for (int prompt = 1; prompt <= 3; ++prompt) {
    for (int who = 0; who < 2; ++who) ask(prompt, (prompt * 10) + who);
  }
  EXPECT_EQ(slots.use().pinned, 16U);
  for (int who = 40; who < 50; ++who) ask(who, who);
  EXPECT_EQ(ask(1, 60), 0U);
  EXPECT_EQ(ask(2, 60), 8U);
  EXPECT_EQ(ask(3, 60), 8U);
}

TEST(KvSlots, TakesPinsFromWhoeverHasMost) {
  KvSlots slots{{.count = 8, .reuse_min = 4, .dense = false}};
  const auto ask = [&](std::uint64_t owner, std::int32_t prompt, std::int32_t who) {
    std::vector<TokenId> all(8, TokenId{-prompt});
    for (std::int32_t at = 0; at < 9; ++at) all.push_back({(who * 1000) + at});
    const Slot slot = *slots.enter(std::move(all), {.owner = owner});
    slots.on_computed(slot, 17 - slots.reused(slot));
    slots.leave(slot);
    return slots.reused(slot);
  };
  for (int prompt = 1; prompt <= 20; ++prompt) {
    for (int who = 1; who <= 2; ++who) ask(prompt == 1 ? 1 : 2, prompt, (prompt * 10) + who);
  }
  EXPECT_EQ(slots.use().pinned, 32U);
  EXPECT_EQ(ask(1, 1, 300), 8U);
  EXPECT_EQ(ask(2, 20, 300), 8U);
}

// Whatever is pinned, there is a slot for whoever comes as long as one is not used, and all
// room can be had.
TEST(KvSlots, PinsKeepNobodyOutUnderRandomUse) {
  Prng random{5};
  std::uint64_t pinned = 0;
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random.below(6));
    KvSlots slots{{.count = count, .reuse_min = 4, .dense = random.below(2) == 0}};
    std::vector<Slot> used;
    for (int step = 0; step < 100; ++step) {
      if (random.below(2) == 0) {
        const auto prompt = static_cast<std::int32_t>(random.below(4));
        std::vector<TokenId> all(5 + random.below(8), TokenId{-prompt});
        all.resize(all.size() + random.below(20), TokenId{step});
        const auto many = static_cast<std::uint32_t>(all.size());
        const auto slot = slots.enter(std::move(all));
        ASSERT_EQ(slot.has_value(), used.size() < count);
        if (!slot) continue;
        slots.on_computed(*slot, many - slots.computed(*slot));
        used.push_back(*slot);
      } else if (!used.empty()) {
        const auto who = used.begin() + static_cast<std::ptrdiff_t>(random.below(used.size()));
        slots.leave(*who);
        used.erase(who);
      } else if (random.below(8) == 0) {
        while (slots.evict()) {
        }
        ASSERT_EQ(slots.use(), KvUse{});
      }
      pinned += slots.use().pinned;
    }
  }
  EXPECT_GT(pinned, 0U);
}

TEST(KvSlots, KnowsWhatComesSoon) {
  KvSlots slots{kThree};
  EXPECT_FALSE(slots.comes_soon(tokens(20)));
  const auto slot = slots.enter(tokens(20));
  EXPECT_TRUE(slots.comes_soon(tokens(20)));
  EXPECT_TRUE(slots.comes_soon(tokens(5)));
  EXPECT_FALSE(slots.comes_soon(tokens(4)));  // Three of these could be used.
  slots.on_computed(*slot, 17);
  EXPECT_FALSE(slots.comes_soon(tokens(20)));  // Two more are not worth it.
  slots.clear(*slot);
  EXPECT_FALSE(slots.comes_soon(tokens(20)));
}

// How fast an answer begins must not tell what somebody else has asked.
TEST(KvSlots, SharesNothingBetweenScopes) {
  KvSlots slots{kThree};
  const auto slot = slots.enter(tokens(20), {7});
  EXPECT_TRUE(slots.comes_soon(tokens(20), {7}));
  EXPECT_FALSE(slots.comes_soon(tokens(20), {8}));
  slots.on_computed(*slot, 20);
  EXPECT_EQ(slots.reused(*slots.enter(tokens(20), {8})), 0);
  EXPECT_EQ(slots.reused(*slots.enter(tokens(20), {7})), 19);
}

TEST(KvSlots, SharesNothingBetweenAdapters) {
  KvSlots slots{kThree};
  const auto slot = slots.enter(tokens(20), {.owner = 7, .adapter = 1});
  EXPECT_FALSE(slots.comes_soon(tokens(20), {.owner = 7, .adapter = 2}));
  slots.on_computed(*slot, 20);
  EXPECT_EQ(slots.reused(*slots.enter(tokens(20), {.owner = 7})), 0);
  EXPECT_EQ(slots.reused(*slots.enter(tokens(20), {.owner = 7, .adapter = 1})), 19);
}

// So that few passes compute them.
TEST(KvSlots, KeepsThoseOfAnAdapterSideBySide) {
  KvSlots slots{{.count = 8}};
  std::map<std::uint32_t, std::vector<std::uint32_t>> places;
  for (const std::uint32_t adapter : {0U, 0U, 1U, 0U, 1U, 1U, 0U, 0U}) {
    const auto slot = slots.enter(tokens(4), {.adapter = adapter});
    ASSERT_TRUE(slot);
    places[adapter].push_back(slot->value);
  }
  EXPECT_EQ(places[0], (std::vector<std::uint32_t>{0, 1, 2, 7, 6}));
  EXPECT_EQ(places[1], (std::vector<std::uint32_t>{5, 4, 3}));
  EXPECT_EQ(slots.enter(tokens(4), {.adapter = 2}), std::nullopt);
  for (const std::uint32_t slot : {0U, 1U, 2U, 6U, 7U, 4U}) slots.leave({slot});
  EXPECT_EQ(slots.enter(tokens(4), {.adapter = 1}), Slot{0});  // It is alone.
}

TEST(KvSlots, ForgetsWhatIsShorterThanACopyIsWorth) {
  KvSlots slots{kThree};
  slots.leave(enter(slots, tokens(3)));
  EXPECT_EQ(slots.take_changes(), (Changes{{{0}, {0}, 0}}));
}

TEST(KvSlots, KeepsNothingWhereNothingCanBeCut) {
  KvSlots slots{{.count = 2, .reuse_min = 0, .dense = true}};
  slots.leave(enter(slots, tokens(30)));
  EXPECT_EQ(slots.take_changes(), (Changes{{{0}, {0}, 0}}));
  enter(slots, tokens(30));
  EXPECT_FALSE(slots.comes_soon(tokens(30)));
  EXPECT_EQ(slots.computed(*slots.enter(tokens(30))), 0);
}

// Where sequences share their room nothing need move: used again is where it lies.
TEST(KvSlots, TakesAnEmptySlotWhereTheirPlaceDoesNotMatter) {
  KvSlots slots{{.count = 3, .reuse_min = 4, .dense = false}};
  const Slot first = enter(slots, tokens(8, 9, 1));
  slots.leave(first);
  slots.take_changes();
  const Slot second = enter(slots, tokens(8, 9, 2));
  EXPECT_NE(second, first);
  EXPECT_EQ(slots.take_changes(), (Changes{{second, first, 8}}));
}

TEST(KvSlots, TellsWhatLiesElsewhereToo) {
  KvSlots slots{{.count = 3, .reuse_min = 4}};
  const Slot first = enter(slots, tokens(8, 9, 1));
  EXPECT_EQ(slots.elsewhere(first), 0);
  enter(slots, tokens(3, 9, 2));
  EXPECT_EQ(slots.elsewhere(first), 0);  // Too little.
  slots.leave(enter(slots, tokens(8, 9, 3)));
  EXPECT_EQ(slots.elsewhere(first), 8);  // Used or not.
}

TEST(KvSlots, BeginsWithWhatWasSaved) {
  KvSlots slots{{.count = 2, .reuse_min = 4}};
  const Slot first = enter(slots, tokens(8, 9, 1));
  slots.take_changes();
  slots.save(first, {7});
  slots.leave(first);
  const Slot second = *slots.enter(tokens(8, 9, 1), {}, Saved{{7}, 14, 3});
  const std::uint32_t had = slots.computed(second);
  EXPECT_EQ(had, 14);
  EXPECT_EQ(slots.reused(second), 3);
  const auto changes = slots.take_changes();
  EXPECT_EQ(changes.front(), (KvChange{{7}, first, 17}));
  EXPECT_EQ(changes.back(), (KvChange{second, {7}, 14}));
  slots.on_not_restored(second);
  EXPECT_EQ(slots.computed(second), 0);
  EXPECT_EQ(slots.reused(second), 0);
}

// Also where slots share their room it has none in common with what it was copied from.
TEST(KvSlots, WhatWasSavedTakesCellsOfItsOwn) {
  for (const bool dense : {true, false}) {
    KvSlots slots{{.count = 2, .reuse_min = 4, .dense = dense}};
    const Slot first = enter(slots, tokens(8, 9, 1));
    slots.save(first, {7});
    slots.leave(first);
    slots.take_counts();
    const Slot second = *slots.enter(tokens(8, 9, 1), {}, Saved{{7}, 14, 3});
    EXPECT_EQ(slots.use(), (KvUse{.active = 14, .cached = 17}));
    EXPECT_EQ(slots.take_counts(), (KvCounts{.asked = 3}));
    slots.on_not_restored(second);
    EXPECT_EQ(slots.use(), (KvUse{.active = 0, .cached = 17}));
    EXPECT_EQ(slots.take_counts(), (KvCounts{.asked = 14}));  // They are computed after all.
  }
}

}  // namespace
}  // namespace seedance::sched
