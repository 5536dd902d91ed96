#include "sched/batch_planner.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "base/random.h"

namespace seedance::sched {
namespace {

constexpr PlannerLimits kFour{.sequences_max = 4, .batch_tokens_max = 16, .gap_max = 2};

JobKey job(std::uint64_t id, std::uint32_t gen = 1) {
  return {.id = id, .gen = {gen}};
}

Part part(std::uint32_t slot, std::uint64_t id, std::uint32_t begin, std::uint32_t count,
          bool last) {
  return {.slot = {slot},
          .job = job(id),
          .begin = begin,
          .count = count,
          .last = last,
          .filler = false};
}

Part filler(std::uint32_t slot) {
  return {.slot = {slot}, .job = {}, .begin = 0, .count = 1, .last = false, .filler = true};
}

using Parts = std::vector<Part>;

Parts plan(BatchPlanner& planner) {
  const auto parts = planner.plan();
  return {parts.begin(), parts.end()};
}

// Carries a plan out as the worker does: each `last` part gives one token.
Parts step(BatchPlanner& planner) {
  Parts parts = plan(planner);
  planner.on_computed();
  for (const Part& each : parts) {
    if (each.last) planner.on_token(each.slot);
  }
  return parts;
}

// Jobs 0 to count - 1 in the slots of the same numbers, all decoding.
BatchPlanner decoding(std::uint64_t count, PlannerLimits limits = kFour) {
  BatchPlanner planner{limits};
  for (std::uint64_t id = 0; id < count; ++id) planner.add(job(id), 2);
  step(planner);
  return planner;
}

TEST(BatchPlanner, PlansNothingWhenThereIsNothingToDo) {
  BatchPlanner planner{kFour};
  EXPECT_TRUE(planner.idle());
  EXPECT_TRUE(planner.plan().empty());
}

TEST(BatchPlanner, GoesFromPromptToDecoding) {
  BatchPlanner planner{kFour};
  planner.add(job(7), 5);
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 0, 5, true)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 5, 1, true)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 6, 1, true)}));
  planner.on_end(job(7));
  EXPECT_TRUE(planner.idle());
  EXPECT_EQ(planner.take_freed(), (std::vector<Slot>{{0}}));
  EXPECT_TRUE(planner.take_freed().empty());
}

TEST(BatchPlanner, CutsALongPromptToTheBatch) {
  BatchPlanner planner{kFour};
  planner.add(job(1), 40);
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 0, 16, false)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 16, 16, false)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 32, 8, true)}));
}

TEST(BatchPlanner, DecodesBeforePrompts) {
  BatchPlanner planner = decoding(2);
  planner.add(job(9), 30);
  EXPECT_EQ(step(planner),
            (Parts{part(0, 0, 2, 1, true), part(1, 1, 2, 1, true), part(2, 9, 0, 14, false)}));
}

TEST(BatchPlanner, ServesTheOldestPromptFirst) {
  BatchPlanner planner = decoding(1);
  planner.add(job(1), 20);
  planner.add(job(2), 20);
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 2, 1, true), part(1, 1, 0, 15, false)}));
  EXPECT_EQ(step(planner),
            (Parts{part(0, 0, 3, 1, true), part(2, 2, 0, 10, false), part(1, 1, 15, 5, true)}));
}

TEST(BatchPlanner, WaitsInOrderForASlotAndTakesTheLowest) {
  BatchPlanner planner = decoding(4);
  planner.add(job(10), 3);
  planner.add(job(11), 3);
  EXPECT_EQ(step(planner).size(), 4);
  EXPECT_EQ(planner.waiting(), 2);
  planner.on_end(job(2));
  planner.on_end(job(1));
  const Parts parts = step(planner);
  EXPECT_EQ(planner.waiting(), 0);
  for (const Part& each : parts) {
    if (each.job == job(10)) EXPECT_EQ(each.slot, Slot{1});
    if (each.job == job(11)) EXPECT_EQ(each.slot, Slot{2});
  }
}

TEST(BatchPlanner, CancelsInEveryState) {
  BatchPlanner planner = decoding(3);
  planner.add(job(3), 40);
  planner.add(job(4), 5);
  step(planner);
  ASSERT_EQ(planner.waiting(), 1);  // 4; 3 is in its prompt, the others decode.
  EXPECT_TRUE(planner.cancel(job(4)));
  EXPECT_TRUE(planner.cancel(job(3)));
  EXPECT_TRUE(planner.cancel(job(1)));
  EXPECT_EQ(planner.take_freed(), (std::vector<Slot>{{3}, {1}}));
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 3, 1, true), filler(1), part(2, 2, 3, 1, true)}));
}

TEST(BatchPlanner, IgnoresTheCancelOfAnotherGeneration) {
  BatchPlanner planner{kFour};
  planner.add(job(1, 2), 5);
  EXPECT_FALSE(planner.cancel(job(1, 1)));
  step(planner);
  EXPECT_FALSE(planner.cancel(job(1, 1)));
  EXPECT_FALSE(planner.cancel(job(2, 2)));
  EXPECT_EQ(planner.running(), 1);
}

TEST(BatchPlanner, BridgesAGapWithAPromptInIt) {
  BatchPlanner planner = decoding(3);
  planner.on_end(job(1));
  planner.add(job(5), 6);
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 2, 1, true), part(1, 5, 0, 1, false),
                                  part(2, 2, 2, 1, true), part(1, 5, 1, 5, true)}));
  EXPECT_EQ(step(planner),
            (Parts{part(0, 0, 3, 1, true), part(1, 5, 6, 1, true), part(2, 2, 3, 1, true)}));
}

TEST(BatchPlanner, LeavesAWideGap) {
  BatchPlanner planner = decoding(4, {.sequences_max = 4, .batch_tokens_max = 16, .gap_max = 1});
  planner.on_end(job(1));
  planner.on_end(job(2));
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 2, 1, true), part(3, 3, 2, 1, true)}));
}

TEST(BatchPlanner, BridgesOnlyBetweenSlots) {
  BatchPlanner planner = decoding(4);
  planner.on_end(job(0));
  planner.on_end(job(3));
  EXPECT_EQ(step(planner), (Parts{part(1, 1, 2, 1, true), part(2, 2, 2, 1, true)}));
}

TEST(BatchPlanner, GroupsPromptsOfOneLengthAndPutsOthersInDescendingOrder) {
  BatchPlanner planner{{.sequences_max = 6, .batch_tokens_max = 64, .gap_max = 2}};
  const std::vector<std::uint32_t> lengths{4, 7, 7, 5, 6};
  for (std::size_t id = 0; id < lengths.size(); ++id) planner.add(job(id), lengths[id]);
  EXPECT_EQ(step(planner),
            (Parts{part(1, 1, 0, 7, true), part(2, 2, 0, 7, true), part(4, 4, 0, 6, true),
                   part(3, 3, 0, 5, true), part(0, 0, 0, 4, true)}));
}

TEST(BatchPlanner, RequeuesTheNewestWhenThereIsNoRoom) {
  BatchPlanner planner = decoding(3);
  planner.add(job(8), 3);
  planner.add(job(9), 3);
  ASSERT_EQ(plan(planner).size(), 4);
  EXPECT_EQ(planner.on_no_room(), job(8));
  EXPECT_EQ(planner.take_freed(), (std::vector<Slot>{{3}}));
  EXPECT_EQ(step(planner).size(), 3);  // 8 must not come back at once.
  EXPECT_EQ(planner.waiting(), 2);
  planner.on_end(job(0));
  const Parts parts = step(planner);
  EXPECT_EQ(parts.front(), part(1, 1, 3, 1, true));
  EXPECT_EQ(parts[2], part(3, 9, 0, 3, true));
  EXPECT_EQ(parts[3], part(0, 8, 0, 3, true));  // It kept its place in front of 9.
}

TEST(BatchPlanner, PrefillsARequeuedJobWithAllItsTokens) {
  BatchPlanner planner = decoding(2);
  step(planner);  // Each has 4 tokens now, of which 3 are computed.
  plan(planner);
  EXPECT_EQ(planner.on_no_room(), job(1));
  planner.on_end(job(0));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 0, 4, true)}));
}

TEST(BatchPlanner, KeepsTheOnlyJobWhenThereIsNoRoom) {
  BatchPlanner planner = decoding(1);
  plan(planner);
  EXPECT_EQ(planner.on_no_room(), std::nullopt);
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 2, 1, true)}));
}

// What one pass of llama_batch_allocr::split_equal would take together: how many
// passes do the parts need that decode?
std::size_t runs(const Parts& parts) {
  std::size_t count = 0;
  std::optional<std::uint32_t> previous;
  for (const Part& each : parts) {
    if (each.count != 1) break;
    if (!previous || each.slot.value != *previous + 1) ++count;
    previous = each.slot.value;
  }
  return count;
}

TEST(BatchPlanner, OnePassDecodesWhenEverySecondJobHasEnded) {
  BatchPlanner planner = decoding(8, {.sequences_max = 8, .batch_tokens_max = 32, .gap_max = 2});
  for (const std::uint64_t id : {1U, 3U, 5U}) planner.on_end(job(id));
  EXPECT_EQ(runs(step(planner)), 1);
}

// Whatever comes and goes, each job's tokens are computed once, in order and
// without gaps since it last entered, no batch is over its limit, and all end.
TEST(BatchPlanner, ComputesEveryTokenInOrderUnderRandomLoad) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng random{seed};
    const PlannerLimits limits{.sequences_max = 5,
                               .batch_tokens_max = static_cast<std::uint32_t>(5 + random.below(30)),
                               .gap_max = static_cast<std::uint32_t>(random.below(4))};
    BatchPlanner planner{limits};
    std::map<JobKey, std::pair<std::uint32_t, std::uint32_t>> jobs;  // Computed, known.
    std::uint64_t next_id = 0;
    for (int round = 0; round < 400 || !planner.idle(); ++round) {
      ASSERT_LT(round, 5000) << "no progress; seed " << seed;
      if (round < 400 && random.below(3) == 0) {
        const auto tokens = static_cast<std::uint32_t>(1 + random.below(40));
        jobs[job(next_id)] = {0, tokens};
        planner.add(job(next_id++), tokens);
      }
      const auto parts = plan(planner);
      if (random.below(20) == 0) {
        if (const auto out = planner.on_no_room()) jobs.at(*out).first = 0;
        continue;
      }
      std::uint32_t rows = 0;
      for (const Part& each : parts) {
        rows += each.count;
        if (each.filler) continue;
        auto& [computed, known] = jobs.at(each.job);
        ASSERT_EQ(each.begin, computed) << "seed " << seed;
        computed += each.count;
        ASSERT_EQ(each.last, computed == known) << "seed " << seed;
      }
      ASSERT_LE(rows, limits.batch_tokens_max) << "seed " << seed;
      planner.on_computed();
      for (const Part& each : parts) {
        if (!each.last) continue;
        if (random.below(8) == 0) {
          planner.on_end(each.job);
          jobs.erase(each.job);
        } else {
          planner.on_token(each.slot);
          ++jobs.at(each.job).second;
        }
      }
    }
    EXPECT_TRUE(jobs.empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace seedance::sched
