#include "sched/batch_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/harness.h"

namespace seedance::sched {
namespace {

constexpr PlannerLimits kFour{.sequences_max = 4, .batch_tokens_max = 16, .gap_max = 2};
constexpr PlannerLimits kReusing{
    .sequences_max = 4, .batch_tokens_max = 16, .gap_max = 2, .reuse_min = 4};

Part part(std::uint32_t slot, std::uint64_t id, std::uint32_t begin, std::uint32_t count,
          bool last) {
  return {.slot = {slot},
          .job = job(id),
          .begin = begin,
          .count = count,
          .last = last,
          .filler = false};
}

Part filler(std::uint32_t slot, std::uint32_t begin = 0) {
  return {.slot = {slot}, .job = {}, .begin = begin, .count = 1, .last = false, .filler = true};
}

void add(BatchPlanner& planner, JobKey key, std::uint32_t tokens) {
  planner.add({.key = key, .tokens = tokens_of(key, tokens)});
}

// Jobs 0 to count - 1 in the slots of the same numbers, all decoding.
BatchPlanner decoding(std::uint64_t count, PlannerLimits limits = kFour) {
  BatchPlanner planner{limits};
  for (std::uint64_t id = 0; id < count; ++id) add(planner, job(id), 2);
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
  add(planner, job(7), 5);
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 0, 5, true)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 5, 1, true)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 7, 6, 1, true)}));
  planner.on_end(job(7));
  EXPECT_TRUE(planner.idle());
  EXPECT_EQ(planner.take_changes(), (Changes{{{0}, {0}, 0}}));
  EXPECT_TRUE(planner.take_changes().empty());
}

TEST(BatchPlanner, CutsALongPromptToTheBatch) {
  BatchPlanner planner{kFour};
  add(planner, job(1), 40);
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 0, 16, false)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 16, 16, false)}));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 32, 8, true)}));
}

TEST(BatchPlanner, DecodesBeforePrompts) {
  BatchPlanner planner = decoding(2);
  add(planner, job(9), 30);
  EXPECT_EQ(step(planner),
            (Parts{part(0, 0, 2, 1, true), part(1, 1, 2, 1, true), part(2, 9, 0, 14, false)}));
}

// A short one does not wait for the long one before it, which goes on all the same.
TEST(BatchPlanner, ServesTheShortestPromptBesideTheOldest) {
  BatchPlanner planner = decoding(1);
  add(planner, job(1), 40);
  add(planner, job(2), 30);
  add(planner, job(3), 5);
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 2, 1, true), part(3, 3, 0, 5, true),
                                  part(2, 2, 0, 2, false), part(1, 1, 0, 8, false)}));
}

TEST(BatchPlanner, WaitsInOrderForASlotAndTakesTheLowest) {
  BatchPlanner planner = decoding(4);
  add(planner, job(10), 3);
  add(planner, job(11), 3);
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
  add(planner, job(3), 40);
  add(planner, job(4), 5);
  step(planner);
  ASSERT_EQ(planner.waiting(), 1);  // 4; 3 is in its prompt, the others decode.
  EXPECT_TRUE(planner.cancel(job(4)));
  EXPECT_TRUE(planner.cancel(job(3)));
  EXPECT_TRUE(planner.cancel(job(1)));
  EXPECT_EQ(planner.take_changes(), (Changes{{{3}, {3}, 0}, {{1}, {1}, 0}}));
  EXPECT_EQ(step(planner), (Parts{part(0, 0, 3, 1, true), filler(1), part(2, 2, 3, 1, true)}));
}

TEST(BatchPlanner, IgnoresTheCancelOfAnotherGeneration) {
  BatchPlanner planner{kFour};
  add(planner, job(1, 2), 5);
  EXPECT_FALSE(planner.cancel(job(1, 1)));
  step(planner);
  EXPECT_FALSE(planner.cancel(job(1, 1)));
  EXPECT_FALSE(planner.cancel(job(2, 2)));
  EXPECT_EQ(planner.running(), 1);
}

TEST(BatchPlanner, BridgesAGapWithAPromptInIt) {
  BatchPlanner planner = decoding(3);
  planner.on_end(job(1));
  add(planner, job(5), 6);
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
  for (std::size_t id = 0; id < lengths.size(); ++id) add(planner, job(id), lengths[id]);
  EXPECT_EQ(step(planner),
            (Parts{part(1, 1, 0, 7, true), part(2, 2, 0, 7, true), part(4, 4, 0, 6, true),
                   part(3, 3, 0, 5, true), part(0, 0, 0, 4, true)}));
}

TEST(BatchPlanner, RequeuesTheNewestWhenThereIsNoRoom) {
  BatchPlanner planner = decoding(3);
  add(planner, job(8), 3);
  add(planner, job(9), 3);
  ASSERT_EQ(plan(planner).size(), 4);
  EXPECT_TRUE(planner.on_no_room());
  EXPECT_EQ(planner.take_changes(), (Changes{{{3}, {3}, 0}}));
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
  EXPECT_TRUE(planner.on_no_room());
  planner.on_end(job(0));
  EXPECT_EQ(step(planner), (Parts{part(0, 1, 0, 4, true)}));
}

TEST(BatchPlanner, KeepsTheOnlyJobWhenThereIsNoRoom) {
  BatchPlanner planner = decoding(1);
  plan(planner);
  EXPECT_FALSE(planner.on_no_room());
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

// Three decode, and with the filler between them the step has as many rows as four: what is
// measured then must count for three, or prompts wait for it until somebody ends.
TEST(BatchPlanner, GivesAFreeSlotAwayAlsoWhereItIsBridged) {
  BatchPlanner planner{kFour};
  const auto compute = [&] {
    const Parts parts = plan(planner);
    planner.on_computed(std::chrono::milliseconds{1});
    for (const Part& each : parts) {
      if (each.last) planner.on_token(each.slot, {-1});
    }
    return parts;
  };
  for (std::uint64_t id = 0; id < 4; ++id) add(planner, job(id), 2);
  for (int i = 0; i < 3; ++i) compute();
  planner.on_end(job(1));
  add(planner, job(4), 2);
  EXPECT_EQ(compute()[1], filler(1));
  EXPECT_GT(std::ranges::count(compute(), job(4), &Part::job), 0);
}

// The next request of a conversation needs only its own words computed.
TEST(BatchPlanner, DoesNotComputeAPrefixAgain) {
  BatchPlanner planner{kReusing};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 6)});
  step(planner);
  step(planner);
  planner.on_end(job(1));
  std::vector<TokenId> longer = tokens_of(job(9), 6);
  longer.insert(longer.end(), {{-1}, {7}, {8}});
  planner.add({.key = job(2), .tokens = longer});
  EXPECT_EQ(step(planner), (Parts{part(0, 2, 7, 2, true)}));
  EXPECT_EQ(planner.reused({0}), 7);
  EXPECT_TRUE(planner.take_changes().empty());  // It is where it was.
}

TEST(BatchPlanner, LetsOthersPassWhileItsPrefixIsComputed) {
  BatchPlanner planner{kReusing};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 28)});
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 27)});
  planner.add({.key = job(3), .tokens = tokens_of(job(3), 2)});
  EXPECT_EQ(step(planner), (Parts{part(1, 3, 0, 2, true), part(0, 1, 0, 14, false)}));
  EXPECT_EQ(step(planner), (Parts{part(1, 3, 2, 1, true), part(0, 1, 14, 14, true)}));
  EXPECT_EQ(planner.waiting(), 1);
  EXPECT_TRUE(planner.take_changes().empty());
  EXPECT_EQ(step(planner).back(), part(2, 2, 26, 1, true));
  EXPECT_EQ(planner.take_changes(), (Changes{{{2}, {0}, 26}}));
}

// A long prompt may have to wait itself, where shorter ones keep coming.
TEST(BatchPlanner, WaitsForAPrefixOnlyForAWhile) {
  BatchPlanner planner{{.sequences_max = 4, .batch_tokens_max = 5, .gap_max = 2, .reuse_min = 4}};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 900)});
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 899)});
  for (int i = 0; i < 32; ++i) {
    step(planner);
    EXPECT_EQ(planner.waiting(), 1);
  }
  step(planner);
  EXPECT_EQ(planner.waiting(), 0);
}

TEST(BatchPlanner, SharesPrefixesWithinAScopeAlsoAfterItWasTakenOut) {
  BatchPlanner planner{kReusing};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 12), .scope = {.owner = 1}});
  step(planner);
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 12), .scope = {.owner = 2}});
  step(planner);
  EXPECT_EQ(planner.reused({1}), 0);
  plan(planner);
  ASSERT_TRUE(planner.on_no_room());  // 2 is the newest.
  planner.on_end(job(1));
  step(planner);
  EXPECT_EQ(planner.reused({0}), 0);
}

TEST(BatchPlanner, KeepsNothingOfAJobThatFailed) {
  BatchPlanner planner{kReusing};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 12)});
  step(planner);
  planner.on_failed(job(1));
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 12)});
  EXPECT_EQ(step(planner), (Parts{part(0, 2, 0, 12, true)}));
}

TEST(BatchPlanner, ComputesAPrefixWhoseComputerIsGone) {
  BatchPlanner planner{kReusing};
  planner.add({.key = job(1), .tokens = tokens_of(job(9), 20)});
  planner.add({.key = job(2), .tokens = tokens_of(job(9), 19)});
  plan(planner);
  planner.on_failed(job(1));
  EXPECT_EQ(step(planner), (Parts{part(0, 2, 0, 16, false)}));
}

TEST(BatchPlanner, BridgesBehindWhatAnEndedJobLeft) {
  BatchPlanner planner = decoding(3, kReusing);
  for (int i = 0; i < 3; ++i) step(planner);
  planner.on_end(job(1));
  const Parts parts = step(planner);
  EXPECT_EQ(parts[1], filler(1, 5));
  EXPECT_TRUE(planner.take_changes().empty());
}

TEST(BatchPlanner, DropsWhatNobodyUsesBeforeAJobWhenThereIsNoRoom) {
  BatchPlanner planner = decoding(3, kReusing);
  for (int i = 0; i < 3; ++i) step(planner);
  planner.on_end(job(1));
  plan(planner);
  EXPECT_TRUE(planner.on_no_room());
  EXPECT_EQ(planner.take_changes(), (Changes{{{1}, {1}, 0}}));
  EXPECT_EQ(planner.running(), 2);
}

// Two that wait for their first token weigh more than one that decodes.
TEST(BatchPlanner, GivesPromptsMoreOfAStepWhereMoreWait) {
  using std::chrono::milliseconds;
  BatchPlanner planner{
      {.sequences_max = 4,
       .batch_tokens_max = 64,
       .gap_max = 2,
       .prefill = {.step_target = milliseconds{10}, .pause_max = {}, .tokens_min = 1}}};
  add(planner, job(0), 10);
  plan(planner);
  planner.on_computed(milliseconds{10});
  planner.on_token({0}, {-1});
  plan(planner);
  planner.on_computed(milliseconds{2});
  planner.on_token({0}, {-1});
  for (const std::uint64_t id : {1U, 2U, 3U}) add(planner, job(id), 60);
  std::uint32_t tokens = 0;
  for (const Part& each : plan(planner)) tokens += each.count;
  EXPECT_EQ(tokens, 1 + 28);  // Three times 10 ms, less the 2 for decoding.
}

// Copying holds those up who decode, too.
TEST(BatchPlanner, LetsInNoMoreThanTheirCopiesMayTake) {
  BatchPlanner planner{{.sequences_max = 8, .batch_tokens_max = 9, .gap_max = 2, .reuse_min = 4}};
  planner.add({.key = job(0), .tokens = tokens_of(job(9), 99)});
  while (planner.take_changes(), step(planner).back().begin != 99) {
  }
  for (std::uint64_t id = 1; id < 8; ++id)
    planner.add({.key = job(id), .tokens = tokens_of(job(9), 99)});
  step(planner);
  EXPECT_EQ(planner.take_changes().size(), 2);  // Of 98 tokens each: 4 of the 7 that are free.
  EXPECT_EQ(planner.waiting(), 5);
}

// What decodes goes on while a prompt is computed bit by bit.
TEST(BatchPlanner, GivesAPromptNoMoreThanAStepMayTake) {
  using std::chrono::milliseconds;
  BatchPlanner planner =
      decoding(2, {.sequences_max = 4,
                   .batch_tokens_max = 64,
                   .gap_max = 2,
                   .prefill = {.step_target = milliseconds{30}, .pause_max = {}, .tokens_min = 4}});
  plan(planner);
  planner.on_computed(milliseconds{10});
  for (const std::uint32_t slot : {0U, 1U}) planner.on_token({slot}, {-1});
  add(planner, job(9), 60);
  const Parts first = plan(planner);
  EXPECT_EQ(first.back().count, 60);  // Nothing is known of prompts.
  planner.on_computed(milliseconds{130});
  for (const std::uint32_t slot : {0U, 1U, 2U}) planner.on_token({slot}, {-1});
  add(planner, job(8), 60);
  EXPECT_EQ(plan(planner).back(), part(3, 8, 0, 10, false));
}

// On a machine on which a token of a prompt takes 1 ms and a step that decodes 2.
class Pause : public testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;

  Parts step() {
    Parts parts = plan(planner_);
    std::uint32_t prompt_tokens = 0;
    for (const Part& each : parts) prompt_tokens += each.begin < 100 ? each.count : 0;
    planner_.on_computed(milliseconds{2 + prompt_tokens});
    for (const Part& each : parts) {
      if (each.last) planner_.on_token(each.slot, {-1});
    }
    return parts;
  }

  // Job 0 decodes.
  void SetUp() override {
    planner_.add({.key = job(0), .tokens = tokens_of(job(0), 100)});
    for (int i = 0; i < 5; ++i) step();
  }

  void enter(std::uint32_t tokens, Priority priority = Priority::interactive) {
    planner_.add({.key = job(1), .tokens = tokens_of(job(1), tokens), .priority = priority});
  }

  BatchPlanner planner_{{.sequences_max = 4,
                         .batch_tokens_max = 64,
                         .gap_max = 2,
                         .reuse_min = 4,
                         .prefill = {.step_target = milliseconds{12},
                                     .step_max = milliseconds{40},
                                     .pause_max = milliseconds{100},
                                     .tokens_min = 4}}};
};

TEST_F(Pause, ComputesALongPromptAlone) {
  enter(70);
  Parts parts = step();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].job, job(1));
  EXPECT_GT(parts[0].count, 30);
  parts = step();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(parts[0].last);
  EXPECT_EQ(step().size(), 2U);  // Both decode.
}

TEST_F(Pause, DecodesBesideAShortPrompt) {
  enter(15);
  EXPECT_EQ(step().size(), 2U);
}

TEST_F(Pause, IsNotForALowerClass) {
  enter(70, Priority::batch);
  EXPECT_EQ(step().size(), 2U);
}

TEST_F(Pause, LeavesALowerClassOut) {
  enter(70);
  planner_.add({.key = job(2), .tokens = tokens_of(job(2), 70), .priority = Priority::batch});
  std::size_t steps = 0;
  for (Parts parts = step(); parts.size() == 1; parts = step(), ++steps) {
    EXPECT_EQ(parts[0].job, job(1));
  }
  EXPECT_GT(steps, 1);
}

// It needs one row, like those who decode, but nobody has waited longer for it.
TEST_F(Pause, IsNoneForAPromptOfWhichAllIsKnown) {
  enter(70);
  planner_.add({.key = job(2), .tokens = tokens_of(job(0), 100)});
  const Parts parts = step();
  EXPECT_EQ(std::ranges::count(parts, job(0), &Part::job), 0);
  EXPECT_EQ(std::ranges::count(parts, job(2), &Part::job), 1);
}

// Whatever comes and goes, each job's next token is chosen behind all of its own tokens and
// nobody else's, no batch is over its limit, and all end, whatever is pinned.
TEST(BatchPlanner, ComputesEveryTokenInOrderUnderRandomLoad) {
  std::uint64_t reused = 0;
  std::uint64_t pinned = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load{seed, {.no_room = 20, .cancel = 30, .fail = 30}};
    for (int round = 0; round < 400 || !load.planner().idle(); ++round) {
      ASSERT_LT(round, 5000) << "no progress";
      if (round < 400 && load.random().below(3) == 0) load.add();
      load.step();
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(load.jobs().empty());
    reused += load.reused();
    pinned += load.pinned();
  }
  EXPECT_GT(reused, 0);
  EXPECT_GT(pinned, 0);
}

}  // namespace
}  // namespace seedance::sched
