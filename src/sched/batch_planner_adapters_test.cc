// What adapters do to a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sched/harness.h"

namespace seedance::sched {
namespace {

using enum Priority;
using std::chrono::milliseconds;

constexpr PlannerLimits kFour{.sequences_max = 4, .batch_tokens_max = 16, .gap_max = 2};

void add(BatchPlanner& planner, std::uint64_t id, std::uint32_t tokens, std::uint32_t adapter,
         Priority priority = interactive) {
  planner.add({.key = job(id),
               .tokens = tokens_of(job(id), tokens),
               .priority = priority,
               .scope = {.adapter = adapter}});
}

using Jobs = std::set<std::uint64_t>;

Jobs jobs_in(const Parts& parts) {
  Jobs jobs;
  for (const Part& each : parts) {
    if (!each.filler) jobs.insert(each.job.id);
  }
  return jobs;
}

TEST(BatchPlannerAdapters, TakeTurns) {
  BatchPlanner planner{kFour};
  add(planner, 1, 2, 0);
  add(planner, 2, 2, 1);
  add(planner, 3, 2, 0);
  add(planner, 4, 2, 2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{1, 3}));
    EXPECT_EQ(planner.adapter(), 0);
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{2}));
    EXPECT_EQ(planner.adapter(), 1);
    EXPECT_EQ(jobs_in(step(planner)), (Jobs{4}));
    EXPECT_EQ(planner.adapter(), 2);
  }
  planner.on_end(job(2));
  planner.on_end(job(4));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(jobs_in(step(planner)), (Jobs{1, 3}));
}

TEST(BatchPlannerAdapters, AreBridgedOverNobodyElsesSlot) {
  BatchPlanner planner{kFour};
  for (std::uint64_t id = 0; id < 4; ++id) add(planner, id, 2, id == 1 ? 1 : 0);
  step(planner);
  step(planner);
  const Parts around = step(planner);
  EXPECT_EQ(jobs_in(around), (Jobs{0, 2, 3}));
  EXPECT_TRUE(std::ranges::none_of(around, &Part::filler));
  planner.on_end(job(1));
  const Parts over = step(planner);
  EXPECT_EQ(std::ranges::count_if(over, &Part::filler), 1);
}

TEST(BatchPlannerAdapters, ShareNoPrefix) {
  BatchPlanner planner{{.sequences_max = 4, .batch_tokens_max = 64, .gap_max = 2, .reuse_min = 4}};
  for (const std::uint32_t adapter : {0U, 1U}) {
    planner.add(
        {.key = job(adapter), .tokens = tokens_of(job(9), 20), .scope = {.adapter = adapter}});
  }
  step(planner);
  step(planner);
  EXPECT_EQ(planner.reused({0}), 0);
  EXPECT_EQ(planner.reused({1}), 0);
  planner.on_end(job(0));
  planner.on_end(job(1));
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 20), .scope = {.adapter = 1}});
  const Parts parts = step(planner);
  EXPECT_EQ(planner.reused(parts.front().slot), 19);
}

// After a step that was ahead of its turn the round has one.
TEST(BatchPlannerAdapters, ARealtimePromptGoesAhead) {
  BatchPlanner planner{kFour};
  add(planner, 0, 2, 0);
  add(planner, 1, 2, 1);
  step(planner);
  add(planner, 2, 40, 0, realtime);
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 2}));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{1}));
  EXPECT_EQ(jobs_in(step(planner)), (Jobs{0, 2}));
}

TEST(BatchPlannerAdapters, PromptsOfAllHoldUpThoseWhoDecodeNoLonger) {
  BatchPlanner planner{{.sequences_max = 8,
                        .batch_tokens_max = 1000,
                        .prefill = {.step_target = milliseconds{40}, .tokens_min = 1}}};
  const auto compute = [&] {
    std::uint32_t rows = 0;
    const Parts parts = plan(planner);
    for (const Part& each : parts) rows += each.count;
    planner.on_computed(milliseconds{rows});
    for (const Part& each : parts) {
      if (each.last) planner.on_token(each.slot, {-1});
    }
    return rows;
  };
  for (std::uint64_t id = 0; id < 4; ++id) add(planner, id, 10, 0);
  for (int i = 0; i < 3; ++i) compute();
  for (const std::uint32_t adapter : {0U, 1U}) add(planner, 10 + adapter, 2000, adapter);
  for (int i = 0; i < 3; ++i) compute();
  std::uint32_t both = compute();
  both += compute();
  EXPECT_GE(both, 30);
  EXPECT_LE(both, 40);  // Milliseconds between two tokens.
}

// Jobs of several adapters come and go, many with the same tokens. Who decodes has a token each
// time that all adapters had their turn.
TEST(BatchPlannerAdapters, NeverMixAndAllGoOnUnderRandomLoad) {
  std::uint64_t reused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load{seed};
    for (int round = 0; round < 300 || !load.planner().idle(); ++round) {
      ASSERT_LT(round, 20'000) << "no progress";
      const auto adapter = static_cast<std::uint32_t>(load.random().below(RandomLoad::kAdapters));
      if (round < 300 && load.random().below(3) == 0) load.add(interactive, adapter);
      load.step();
      if (HasFatalFailure()) return;
      for (const auto& [id, known] : load.jobs()) {
        ASSERT_LE(known.waits, RandomLoad::kAdapters - 1) << id;
      }
    }
    EXPECT_TRUE(load.jobs().empty());
    reused += load.reused();
  }
  EXPECT_GT(reused, 0);
}

}  // namespace
}  // namespace seedance::sched
