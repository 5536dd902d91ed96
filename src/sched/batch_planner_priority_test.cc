// What priorities do to a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sched/harness.h"

namespace seedance::sched {
namespace {

using enum Priority;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr PlannerLimits kTwo{.sequences_max = 2, .batch_tokens_max = 16};
constexpr PlannerLimits kFour{.sequences_max = 4, .batch_tokens_max = 16};

void add(BatchPlanner& planner, std::uint64_t id, std::uint32_t tokens, Priority priority) {
  planner.add({.key = job(id), .tokens = tokens_of(job(id), tokens), .priority = priority});
}

std::set<std::uint64_t> jobs_in(const Parts& parts) {
  std::set<std::uint64_t> jobs;
  for (const Part& each : parts) jobs.insert(each.job.id);
  return jobs;
}

using Jobs = std::set<std::uint64_t>;

// The part of a job, or one of no tokens.
Part part_of(const Parts& parts, std::uint64_t id) {
  for (const Part& each : parts) {
    if (each.job.id == id) return each;
  }
  return {};
}

TEST(BatchPlannerPriority, WaitsInOrderOfClassThenOfArrival) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  const std::vector<Priority> classes{batch, interactive, realtime, batch, interactive, realtime};
  for (std::uint64_t id = 0; id < classes.size(); ++id) add(planner, id, 2, classes[id]);
  std::vector<std::uint64_t> order;
  while (!planner.idle()) {
    order.push_back(step(planner).front().job.id);
    planner.on_end(job(order.back()));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 5, 1, 4, 0, 3}));
}

TEST(BatchPlannerPriority, TakesTheSlotOfTheNewestOfTheLowestClass) {
  BatchPlanner planner{kFour};
  add(planner, 0, 2, interactive);
  add(planner, 1, 2, batch);
  add(planner, 2, 2, batch);
  add(planner, 3, 2, interactive);
  step(planner);
  add(planner, 9, 3, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 1, 3, 9}));
  EXPECT_EQ(planner.waiting(), 1);
  EXPECT_EQ(planner.take_parked(), 1);
  EXPECT_EQ(planner.take_parked(), 0);
  step(planner);
  planner.on_end(job(9));
  // Behind the token that it had made.
  EXPECT_EQ(part_of(step(planner), 2).count, 3);
  EXPECT_TRUE(part_of(step(planner), 2).last);
  EXPECT_EQ(planner.take_parked(), 0);
}

TEST(BatchPlannerPriority, LeavesTheSlotsOfItsOwnClassAndOfHigherOnes) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 2, realtime);
  add(planner, 1, 2, interactive);
  step(planner);
  add(planner, 2, 2, batch);
  add(planner, 3, 2, interactive);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 1}));
  add(planner, 4, 2, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 4}));
  add(planner, 5, 2, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 4}));
}

TEST(BatchPlannerPriority, TakesAFreeSlotRatherThanAnothers) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 2, batch);
  step(planner);
  add(planner, 1, 2, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 1}));
  EXPECT_EQ(planner.take_parked(), 0);
}

TEST(BatchPlannerPriority, CancelsAParkedJob) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  add(planner, 0, 2, batch);
  step(planner);
  add(planner, 1, 2, realtime);
  step(planner);
  EXPECT_TRUE(planner.cancel(job(0)));
  planner.on_end(job(1));
  EXPECT_TRUE(planner.idle());
}

TEST(BatchPlannerPriority, GivesAHigherPromptTheRoomFirst) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 40, batch);
  step(planner);
  add(planner, 1, 20, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{1}));
  const Parts rest = step(planner);
  EXPECT_EQ(part_of(rest, 1).count, 4);
  EXPECT_EQ(part_of(rest, 0).count, 12);
}

TEST(BatchPlannerPriority, TakesOutTheNewestOfTheLowestClassWhenThereIsNoRoom) {
  BatchPlanner planner{kFour};
  add(planner, 0, 2, batch);
  add(planner, 1, 2, batch);
  add(planner, 2, 2, realtime);
  step(planner);
  plan(planner);
  EXPECT_TRUE(planner.on_no_room());
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 2}));
  EXPECT_EQ(planner.take_parked(), 1);
}

// However often a step is planned, whoever lets others pass in it did so once.
TEST(BatchPlannerPriority, CountsAStepOnceWhereRoomIsShort) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 30, batch);
  add(planner, 1, 100, realtime);
  for (std::uint32_t again = 0; again <= kOvertakenMax; ++again) {
    EXPECT_EQ(jobs_in(plan(planner)), (Jobs{1})) << again;
  }
}

TEST(BatchPlannerPriority, TakesASlotAlsoWhereRoomIsShort) {
  BatchPlanner planner{{.sequences_max = 4, .batch_tokens_max = 16, .reuse_min = 1}};
  for (std::uint64_t id = 0; id < 3; ++id) add(planner, id, 2, batch);
  step(planner);
  plan(planner);
  EXPECT_TRUE(planner.on_no_room());
  add(planner, 9, 2, realtime);
  add(planner, 8, 2, batch);
  EXPECT_EQ(jobs_in(plan(planner)), (Jobs{0, 9}));
  // What is parked makes room: it is not kept.
  EXPECT_EQ(planner.take_changes(), (Changes{{{1}, {1}, 0}, {{2}, {2}, 0}}));
}

TEST(BatchPlannerPriority, WaitsForNoPrefixThatALowerClassComputes) {
  BatchPlanner planner{{.sequences_max = 4, .batch_tokens_max = 16, .reuse_min = 4}};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 28), .priority = batch});
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 27), .priority = batch});
  step(planner);
  EXPECT_EQ(planner.waiting(), 1);
  planner.add({.key = job(3), .tokens = tokens_of(job(9), 27), .priority = realtime});
  step(planner);
  EXPECT_EQ(planner.waiting(), 1);
  EXPECT_EQ(planner.running(), 2);
}

TEST(BatchPlannerPriority, ParksAJobSoOftenAndNotOnceMore) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  add(planner, 0, 2, batch);
  for (std::uint64_t id = 1; id <= kParksMax; ++id) {
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{0}));
    add(planner, id, 2, realtime);
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{id}));
    planner.on_end(job(id));
  }
  EXPECT_EQ(planner.take_parked(), kParksMax);
  step(planner);
  add(planner, 99, 2, realtime);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(jobs_in(step(planner)), (Jobs{0}));
  planner.on_end(job(0));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{99}));
}

TEST(BatchPlannerPriority, HasItsTurnWhenItWasOvertakenLongEnough) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  add(planner, 1, 2, realtime);
  step(planner);
  add(planner, 0, 2, batch);
  for (std::uint64_t id = 2; id < 2 + kOvertakenMax; ++id) {
    add(planner, id, 2, realtime);
    planner.on_end(job(id - 1));
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{id}));
  }
  add(planner, 1000, 2, realtime);
  planner.on_end(job(1 + kOvertakenMax));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0}));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{1000}));  // It has no right to stay.
}

TEST(BatchPlannerPriority, WaitingBehindItsOwnClassIsNotBeingOvertaken) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  add(planner, 0, 2, batch);
  add(planner, 1, 2, batch);
  for (std::uint32_t i = 0; i < 3 * kOvertakenMax; ++i) step(planner);
  add(planner, 2, 2, interactive);
  planner.on_end(job(0));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{2}));
}

TEST(BatchPlannerPriority, APromptThatWasOvertakenLongEnoughGetsRoom) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 40, batch);
  step(planner);
  add(planner, 1, 5000, realtime);
  for (std::uint32_t i = 0; i < kOvertakenMax; ++i) EXPECT_EQ(jobs_in(step(planner)), (Jobs{1}));
  EXPECT_EQ(part_of(step(planner), 0).count, 16);  // It has least left.
}

// The promise: within two steps and what its own prompt takes, whatever the others do.
TEST(BatchPlannerPriority, ARealtimeJobAmongTwoHundredOthersBeginsAtOnce) {
  for (const Priority others : {batch, interactive}) {
    for (int warm = 0; warm < 400; warm += 37) {
      BatchPlanner planner{{.sequences_max = 64, .batch_tokens_max = 512}};
      for (std::uint64_t id = 0; id < 200; ++id) add(planner, id, 300, others);
      const auto compute = [&] {
        const Parts parts = plan(planner);
        std::uint32_t rows = 0;
        for (const Part& each : parts) rows += each.count;
        planner.on_computed(milliseconds{2} + rows * microseconds{50});
        for (const Part& each : parts) {
          if (each.last) planner.on_token(each.slot, {-1});
        }
        return parts;
      };
      for (int i = 0; i < warm; ++i) compute();
      add(planner, 999, 700, realtime);
      int waited = 0;
      for (bool begun = false; !begun;) {
        const Parts parts = compute();
        const Part own = part_of(parts, 999);
        if (own.count == 0) ++waited;
        ASSERT_LE(waited, 1) << warm;
        // All of the room is its own, until there is more than it needs.
        for (const Part& each : parts) {
          if (own.count > 0 && !own.last && each.job.id != 999) EXPECT_EQ(each.count, 1);
        }
        begun = own.last;
      }
      EXPECT_LE(planner.take_parked(), 1);
    }
  }
}

// The same while answers end all the time, so that slots are free between others that decode.
TEST(BatchPlannerPriority, ARealtimeJobWaitsForNobodyToEnd) {
  Prng random{1};
  BatchPlanner planner{{.sequences_max = 64, .batch_tokens_max = 512, .gap_max = 8}};
  std::map<std::uint64_t, std::uint64_t> left;  // Tokens to come, by job.
  std::uint64_t next = 0;
  const auto add_one = [&](Priority priority, std::uint64_t tokens) {
    add(planner, next, 32, priority);
    left[next++] = tokens;
  };
  std::optional<std::uint64_t> waits;
  int waited = 0;
  for (int i = 0; i < 3000; ++i) {
    while (planner.waiting() < 8) add_one(batch, 64 + random.below(128));
    if (i % 20 == 0 && !waits) {
      waits = next;
      waited = 0;
      add_one(realtime, 8);
    }
    const Parts parts = plan(planner);
    std::uint32_t rows = 0;
    for (const Part& each : parts) rows += each.count;
    planner.on_computed(milliseconds{8} + rows * microseconds{60});
    ++waited;
    for (const Part& each : parts) {
      if (!each.last) continue;
      if (each.job.id == waits) waits.reset();
      planner.on_token(each.slot, {-1});
      if (--left.at(each.job.id) == 0) planner.on_end(each.job);
    }
    if (waits) ASSERT_LT(waited, 3) << i;
  }
}

// There are nearly always more urgent jobs than slots, and they never stop: yet those end that
// came first.
TEST(BatchPlannerPriority, NothingStarvesUnderRandomLoad) {
  std::uint64_t parked = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load{seed, {.no_room = 20}};
    for (int i = 0; i < 8; ++i) load.add(batch);
    for (int i = 0; i < 4; ++i) load.add(interactive);
    const std::uint64_t patient = load.added();
    for (int round = 0; load.jobs().begin()->first < patient; ++round) {
      ASSERT_LT(round, 20'000) << "somebody starves";
      if (load.planner().waiting() < 12) {
        load.add(load.random().below(3) == 0 ? interactive : realtime);
      }
      load.step();
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(load.parked(), kParksMax * load.added());
    parked += load.parked();
  }
  EXPECT_GT(parked, 0);
}

TEST(BatchPlannerPriority, WhoGoesOnComesBeforeItsClass) {
  BatchPlanner planner{{.sequences_max = 1, .batch_tokens_max = 16}};
  const std::vector<Priority> classes{interactive, interactive, realtime, interactive, interactive};
  for (std::uint64_t id = 0; id < classes.size(); ++id) {
    planner.add({.key = job(id),
                 .tokens = tokens_of(job(id), 2),
                 .priority = classes[id],
                 .goes_on = id > 2});
  }
  std::vector<std::uint64_t> order;
  while (!planner.idle()) {
    order.push_back(step(planner).front().job.id);
    planner.on_end(job(order.back()));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 3, 4, 0, 1}));
}

TEST(BatchPlannerPriority, WhoGoesOnIsNotTheNewest) {
  BatchPlanner planner{kTwo};
  add(planner, 0, 2, batch);
  step(planner);
  planner.add({.key = job(1), .tokens = tokens_of(job(1), 2), .priority = batch, .goes_on = true});
  step(planner);
  add(planner, 2, 2, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{1, 2}));
}

}  // namespace
}  // namespace seedance::sched
