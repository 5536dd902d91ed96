// What adapters do to a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "sched/harness.h"

namespace seedance::sched {
namespace {

using enum Priority;
using std::chrono::milliseconds;

constexpr PlannerLimits kFour{.sequences_max = 4, .batch_tokens_max = 16, .gap_max = 2};

void add(BatchPlanner& planner, std::uint64_t id, std::uint32_t tokens, std::uint32_t adapter,
         Priority priority = interactive) {
  planner.add(job(id), tokens_of(job(id), tokens), 0, priority, adapter);
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
    planner.add(job(adapter), tokens_of(job(9), 20), 0, interactive, adapter);
  }
  step(planner);
  step(planner);
  EXPECT_EQ(planner.reused({0}), 0);
  EXPECT_EQ(planner.reused({1}), 0);
  planner.on_end(job(0));
  planner.on_end(job(1));
  planner.add(job(2), tokens_of(job(9), 20), 0, interactive, 1);
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

// Jobs of several adapters come and go, many with the same tokens.
class RandomLoad {
 public:
  explicit RandomLoad(std::uint64_t seed) : random_(seed), planner_(limits_) {}

  void run() {
    for (int round = 0; round < 300 || !planner_.idle(); ++round) {
      ASSERT_LT(round, 20'000) << "no progress";
      if (round < 300 && random_.below(3) == 0) add_one();
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(jobs_.empty());
  }

  std::uint64_t reused() const { return reused_; }

 private:
  struct Known {
    std::uint32_t adapter = 0;
    std::uint32_t left = 0;
    std::optional<Slot> slot = {};
    std::uint32_t waits = 0;  // Steps, since it decodes.
  };

  void add_one() {
    const JobKey key = job(next_id_++);
    const auto adapter = static_cast<std::uint32_t>(random_.below(kAdapters));
    jobs_[key.id] = {.adapter = adapter, .left = 1 + static_cast<std::uint32_t>(random_.below(9))};
    planner_.add(
        key, tokens_of(job(random_.below(3)), 1 + static_cast<std::uint32_t>(random_.below(40))), 0,
        interactive, adapter);
  }

  void step() {
    const Parts parts = plan(planner_);
    memory_.change(planner_.take_changes());
    for (auto& [id, known] : jobs_) ++known.waits;
    for (const Part& each : parts) compute(each);
    planner_.on_computed({});
    for (const Part& each : parts) {
      if (each.last) take(each);
    }
    for (const auto& [id, known] : jobs_) {
      const bool decodes = known.slot && planner_.tokens(*known.slot).back() == TokenId{-1};
      if (decodes) ASSERT_LE(known.waits, kAdapters - 1) << id;
    }
  }

  // Each token of the memory is marked with the adapter that computed it.
  void compute(const Part& part) {
    if (part.filler) {
      for (const auto& [id, known] : jobs_) ASSERT_NE(known.slot, part.slot) << "it is in use";
      return memory_.compute(part, {});
    }
    Known& known = jobs_.at(part.job.id);
    ASSERT_EQ(known.adapter, planner_.adapter());
    known.slot = part.slot;
    std::vector<TokenId> marked;
    for (const TokenId token : planner_.tokens(part.slot)) {
      marked.push_back({token.value * kAdapters + static_cast<std::int32_t>(known.adapter)});
    }
    memory_.compute(part, marked);
  }

  void take(const Part& part) {
    Known& known = jobs_.at(part.job.id);
    known.waits = 0;
    reused_ += planner_.reused(part.slot);
    planner_.on_token(part.slot, {-1});
    if (--known.left > 0) return;
    planner_.on_end(part.job);
    jobs_.erase(part.job.id);
  }

  static constexpr std::int32_t kAdapters = 4;

  Prng random_;
  const PlannerLimits limits_{.sequences_max = 6,
                              .batch_tokens_max = static_cast<std::uint32_t>(7 + random_.below(30)),
                              .gap_max = static_cast<std::uint32_t>(random_.below(4)),
                              .reuse_min = static_cast<std::uint32_t>(random_.below(3) * 4)};
  BatchPlanner planner_;
  Memory memory_{limits_.sequences_max};
  std::map<std::uint64_t, Known> jobs_;  // That have not ended.
  std::uint64_t next_id_ = 0;
  std::uint64_t reused_ = 0;
};

TEST(BatchPlannerAdapters, NeverMixAndAllGoOnUnderRandomLoad) {
  std::uint64_t reused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load{seed};
    load.run();
    if (HasFatalFailure()) return;
    reused += load.reused();
  }
  EXPECT_GT(reused, 0);
}

}  // namespace
}  // namespace seedance::sched
