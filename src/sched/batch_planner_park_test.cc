// What a parked job keeps, and who gets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/harness.h"

namespace seedance::sched {
namespace {

using enum Priority;
using std::chrono::microseconds;

// In whose memory those are that decode: four slots of its own, then the host's.
PlannerLimits limits(std::uint32_t gap_max = 2) {
  return {.sequences_max = 4,
          .batch_tokens_max = 64,
          .gap_max = gap_max,
          .reuse_min = 4,
          .park_bytes_max = 1000,
          .sequence_bytes = {.token = 10}};
}

void add(BatchPlanner& planner, std::uint64_t id, Priority priority, std::uint32_t tokens = 20) {
  planner.add({.key = job(id), .tokens = tokens_of(job(id), tokens), .priority = priority});
}

// Those of the changes that are from or to the host's memory, all done or none.
Changes move(BatchPlanner& planner, bool done = true, Duration took = {}) {
  Changes moves;
  for (const KvChange& each : planner.take_changes()) {
    if (each.slot.value < 4 && each.from.value < 4) continue;
    moves.push_back(each);
    if (each.slot == each.from) continue;
    EXPECT_EQ(planner.on_moved({.change = each, .took = took, .done = done}),
              done || each.slot.value >= 4);
  }
  return moves;
}

// A row takes a microsecond.
void compute(BatchPlanner& planner, const Parts& parts) {
  std::uint32_t rows = 0;
  for (const Part& each : parts) rows += each.count;
  planner.on_computed(microseconds{rows});
  for (const Part& each : parts) {
    if (each.last) planner.on_token(each.slot, {-1});
  }
}

Parts run(BatchPlanner& planner) {
  const Parts parts = plan(planner);
  move(planner);
  compute(planner, parts);
  return parts;
}

Part part_of(const Parts& parts, std::uint64_t id) {
  const auto part = std::ranges::find(parts, job(id), &Part::job);
  return part == parts.end() ? Part{} : *part;
}

// Of four that decode in the slots of their numbers, 3 is to make room for 9.
BatchPlanner pressed(PlannerLimits own = limits()) {
  BatchPlanner planner{own};
  for (std::uint64_t id = 0; id < 4; ++id) add(planner, id, batch);
  while (part_of(run(planner), 3).begin != 25) {
  }
  add(planner, 9, realtime, 2);
  return planner;
}

constexpr std::uint32_t kHad = 26;

TEST(BatchPlannerPark, GoesOnWithWhatWasSaved) {
  BatchPlanner planner = pressed();
  const Parts parts = plan(planner);
  EXPECT_EQ(part_of(parts, 9).slot, Slot{3});
  EXPECT_EQ(move(planner), (Changes{{{4}, {3}, kHad}}));
  EXPECT_EQ(planner.saved_bytes(), 10 * kHad);
  compute(planner, parts);
  planner.on_end(job(0));
  const Parts again = plan(planner);
  EXPECT_EQ(move(planner), (Changes{{{0}, {4}, kHad}}));
  EXPECT_EQ(planner.saved_bytes(), 0);
  EXPECT_EQ(part_of(again, 3),
            (Part{.slot = {0}, .job = job(3), .begin = kHad, .count = 1, .last = true}));
  EXPECT_EQ(planner.take_restored(), 1);
  EXPECT_EQ(planner.take_restored(), 0);
}

TEST(BatchPlannerPark, SavesBeforeAnotherHasTheSlot) {
  BatchPlanner planner = pressed();
  std::vector<TokenId> longer = tokens_of(job(3), 20);
  longer.push_back({7});
  planner.cancel(job(9));
  planner.add({.key = job(8), .tokens = longer, .priority = realtime});
  plan(planner);  // It begins with what is in the slot.
  EXPECT_EQ(planner.take_changes(), (Changes{{{4}, {3}, kHad}, {{3}, {3}, 20}}));
}

TEST(BatchPlannerPark, DropsWhatIsOfNoUse) {
  for (const bool fails : {false, true}) {
    BatchPlanner planner = pressed();
    run(planner);
    EXPECT_EQ(planner.saved_bytes(), 10 * kHad);
    if (fails) planner.on_failed(job(3));
    if (!fails) planner.cancel(job(3));
    EXPECT_EQ(planner.saved_bytes(), 0);
    EXPECT_EQ(move(planner), (Changes{{{4}, {4}, 0}}));
    EXPECT_EQ(planner.waiting(), 0);
    planner.on_end(job(0));
    EXPECT_EQ(part_of(run(planner), 3), Part{});
  }
}

TEST(BatchPlannerPark, ComputesAgainWhatIsNotSaved) {
  BatchPlanner planner = pressed();
  const Parts parts = plan(planner);
  EXPECT_EQ(move(planner, false), (Changes{{{4}, {3}, kHad}}));
  EXPECT_EQ(planner.saved_bytes(), 0);
  compute(planner, parts);
  planner.on_end(job(0));
  const Parts again = plan(planner);
  EXPECT_EQ(move(planner), Changes{});
  EXPECT_EQ(part_of(again, 3).begin, 0);
  EXPECT_EQ(planner.take_restored(), 0);
}

TEST(BatchPlannerPark, ComputesAgainWhatTakesLongerToMove) {
  BatchPlanner planner = pressed();
  plan(planner);
  move(planner, true, std::chrono::seconds{1});
  planner.cancel(job(9));
  run(planner);
  planner.cancel(job(0));
  run(planner);
  for (const std::uint64_t id : {9U, 10U}) add(planner, id, realtime, 2);
  plan(planner);
  EXPECT_EQ(move(planner), Changes{});
  EXPECT_EQ(planner.saved_bytes(), 0);
}

TEST(BatchPlannerPark, ComputesAgainWhatIsNotRestored) {
  BatchPlanner planner = pressed();
  run(planner);
  planner.on_end(job(0));
  plan(planner);
  EXPECT_EQ(move(planner, false), (Changes{{{0}, {4}, kHad}}));
  EXPECT_EQ(planner.saved_bytes(), 0);
  const Parts again = plan(planner);
  EXPECT_EQ(move(planner), (Changes{{{4}, {4}, 0}}));
  EXPECT_EQ(part_of(again, 3).begin, 0);
  EXPECT_EQ(planner.reused({0}), 0);
}

// Who comes with it might else begin with what never came.
TEST(BatchPlannerPark, SharesNothingThatHasYetToCome) {
  BatchPlanner planner = pressed();
  run(planner);
  planner.on_end(job(0));
  planner.on_end(job(1));
  planner.add({.key = job(5), .tokens = tokens_of(job(3), 12), .priority = batch});
  const Parts parts = plan(planner);
  EXPECT_EQ(part_of(parts, 3).begin, kHad);
  EXPECT_EQ(part_of(parts, 5).begin, 0);
  EXPECT_EQ(move(planner, false).size(), 1);
  plan(planner);
  EXPECT_EQ(planner.reused(part_of(plan(planner), 5).slot), 0);
}

TEST(BatchPlannerPark, TakesWhatIsThereRatherThanWhatWasSaved) {
  BatchPlanner planner = pressed();
  run(planner);
  std::vector<TokenId> same = tokens_of(job(3), 20);
  same.resize(kHad + 1, {-1});
  same.push_back({5});
  planner.add({.key = job(5), .tokens = same, .priority = realtime});
  const Slot slot = part_of(run(planner), 5).slot;
  planner.take_changes();
  for (const std::uint64_t id : {0U, 1U}) planner.on_end(job(id));
  for (int steps = 0; planner.waiting() > 0; ++steps) {
    ASSERT_LT(steps, 9);
    plan(planner);
    const Changes changes = planner.take_changes();
    if (planner.waiting() == 0) {
      EXPECT_EQ(std::ranges::count(changes, slot, &KvChange::from), 1);
      EXPECT_EQ(std::ranges::count(changes, KvChange{{4}, {4}, 0}), 1);
    }
    compute(planner, {});
  }
}

TEST(BatchPlannerPark, WaitsForNoPrefixThatItHas) {
  BatchPlanner planner = pressed();
  run(planner);
  for (const std::uint64_t id : {0U, 1U}) planner.on_end(job(id));
  planner.add({.key = job(5), .tokens = tokens_of(job(3), 100), .priority = realtime});
  run(planner);
  EXPECT_EQ(planner.take_restored(), 1);
  EXPECT_EQ(planner.running(), 4);
}

TEST(BatchPlannerPark, SavesNothingThatAnotherHasToo) {
  BatchPlanner planner{limits()};
  for (std::uint64_t id = 0; id < 4; ++id) {
    planner.add({.key = job(id), .tokens = tokens_of(job(7), 20), .priority = batch});
  }
  for (int i = 0; i < 9; ++i) run(planner);
  ASSERT_EQ(planner.running(), 4);
  add(planner, 9, realtime, 2);
  run(planner);
  EXPECT_EQ(planner.take_parked(), 1);
  EXPECT_EQ(planner.saved_bytes(), 0);
}

TEST(BatchPlannerPark, SavesAlsoWhatMakesRoom) {
  BatchPlanner planner = pressed(limits(0));
  planner.cancel(job(9));
  const Slot slot = part_of(plan(planner), 3).slot;
  EXPECT_TRUE(planner.on_no_room());
  EXPECT_EQ(planner.take_changes(), (Changes{{{4}, slot, kHad}, {slot, slot, 0}}));
}

// Where all share their room, a state may find none. It waits for it as who is taken out does.
TEST(BatchPlannerPark, KeepsWhatFindsNoRoom) {
  BatchPlanner planner = pressed(limits(0));
  run(planner);
  planner.on_end(job(9));
  plan(planner);
  EXPECT_EQ(move(planner, false).size(), 1);
  EXPECT_EQ(planner.saved_bytes(), 10 * kHad);
  EXPECT_EQ(planner.waiting(), 1);
  run(planner);
  EXPECT_EQ(planner.waiting(), 1);
  planner.on_end(job(0));
  for (int i = 0; i < 2; ++i) run(planner);
  EXPECT_EQ(planner.take_restored(), 1);
}

TEST(BatchPlannerPark, ComputesAgainWhatFindsNoRoomAlone) {
  BatchPlanner planner = pressed(limits(0));
  run(planner);
  for (const std::uint64_t id : {9U, 0U, 1U, 2U}) planner.cancel(job(id));
  Parts parts = plan(planner);
  for (int evicted = 0; evicted < 3; ++evicted) {
    EXPECT_EQ(move(planner, false).size(), 1);
    EXPECT_EQ(planner.saved_bytes(), 10 * kHad);
    parts = plan(planner);
  }
  EXPECT_EQ(move(planner, false).size(), 1);
  EXPECT_EQ(planner.saved_bytes(), 0);
  EXPECT_EQ(part_of(plan(planner), 3).begin, 0);
}

TEST(BatchPlannerPark, DropsWhatNobodyUsesForWhatWasSaved) {
  BatchPlanner planner = pressed(limits(0));
  run(planner);
  planner.on_end(job(9));
  planner.on_end(job(0));
  plan(planner);
  const Changes first = planner.take_changes();
  ASSERT_EQ(first.back().from, Slot{4});
  EXPECT_FALSE(planner.on_moved({.change = first.back(), .took = {}, .done = false}));
  plan(planner);
  const Changes again = planner.take_changes();
  ASSERT_EQ(again.size(), 2);
  EXPECT_EQ(again.front().tokens, 0);
  EXPECT_EQ(again.back(), first.back());
  EXPECT_TRUE(planner.on_moved({.change = again.back(), .took = {}, .done = true}));
  EXPECT_EQ(planner.running(), 3);
}

// Those who decode wait for it, too.
TEST(BatchPlannerPark, LetsInNoMoreThanSavingLeavesTimeFor) {
  for (const int slow : {0, 1}) {
    PlannerLimits own = limits();
    own.batch_tokens_max = 24;
    BatchPlanner planner = pressed(own);
    plan(planner);
    move(planner, true, microseconds{1 + (slow * 20)});  // Of the time of 26 tokens.
    compute(planner, {});
    for (const std::uint64_t id : {10U, 11U}) add(planner, id, realtime, 2);
    EXPECT_EQ(part_of(plan(planner), 11).count > 0, slow == 0);
    EXPECT_EQ(planner.take_parked(), slow == 0 ? 3 : 2);
  }
}

// Whoever parks, goes on, fails and is cancelled, and whatever cannot be moved: nobody gets what is
// another's, the host's memory holds what the books say and no more than it may, and nothing is
// left in the end.
TEST(BatchPlannerPark, LosesAndConfusesNothingUnderRandomLoad) {
  std::uint64_t saved = 0;
  std::uint64_t restored = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load{
        seed, {.no_room = 15, .cancel = 30, .fail = 40, .not_moved = 1 + (seed % 9)}, 10 * seed};
    for (int round = 0; round < 300 || !load.planner().idle(); ++round) {
      ASSERT_LT(round, 5000) << "no progress";
      const Priority priority = kPriorities.at(load.random().below(kPriorityCount));
      const auto adapter = static_cast<std::uint32_t>(load.random().below(2));
      if (round < 300 && load.random().below(3) == 0) load.add(priority, adapter);
      load.step();
      if (HasFatalFailure()) return;
    }
    load.expect_empty();
    saved += load.saved();
    restored += load.restored();
  }
  EXPECT_GT(restored, 1000);
  EXPECT_GT(saved, restored + 100);  // The others were dropped.
}

}  // namespace
}  // namespace seedance::sched
