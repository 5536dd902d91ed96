// What the planner guesses ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "sched/batch_planner.h"
#include "sched/draft_harness.h"

namespace seedance::sched {
namespace {

using std::chrono::microseconds;

constexpr PlannerLimits kLimits{.sequences_max = 4,
                                .batch_tokens_max = 64,
                                .gap_max = 2,
                                .reuse_min = 4,
                                .draft_tokens_max = 8};

// The token that a sequence says at a place: the same ones over and over.
TokenId said(std::size_t at) {
  return {static_cast<std::int32_t>(at % 5)};
}

std::uint32_t say(BatchPlanner& planner, const Parts& parts) {
  return say(planner, parts, said, 0.1);
}

std::uint32_t say(BatchPlanner& planner) {
  return say(planner, plan(planner));
}

TEST(BatchPlannerDraft, ComputesAheadWhatRepeats) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  std::uint32_t most = 0;
  for (int i = 0; i < 30; ++i) most = std::max(most, say(planner));
  EXPECT_EQ(most, 8);  // Seven guesses and one behind them.
  const auto [tokens, accepted] = planner.take_drafts();
  EXPECT_EQ(tokens, accepted);
  EXPECT_GT(tokens, 100);
  EXPECT_EQ(planner.take_drafts().tokens, 0);
  EXPECT_TRUE(planner.take_changes().empty());  // Nothing was wrong.
  EXPECT_EQ(planner.tokens({0}).size(), 20 + 1 + tokens + 29);
}

TEST(BatchPlannerDraft, IsOffByDefault) {
  BatchPlanner planner{{.sequences_max = 4, .batch_tokens_max = 64, .gap_max = 2}};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 30; ++i) EXPECT_EQ(say(planner), 1);
}

// Runs one until a plan has several guesses; that plan.
Parts first_with_guesses(BatchPlanner& planner) {
  Parts parts = plan(planner);
  for (int i = 0; i < 40 && parts.front().drafted < 2; ++i) {
    say(planner, parts);
    parts = plan(planner);
  }
  return parts;
}

// Where a plan without guesses does not fit either, nobody is told for ever that it does.
TEST(BatchPlannerDraft, EndsWhereThereIsNoRoomForAPauseEither) {
  PlannerLimits limits = kLimits;
  limits.gap_max = 0;
  limits.prefill = {.step_target = microseconds{5000}, .pause_max = microseconds{100'000}};
  BatchPlanner planner{limits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  ASSERT_GT(first_with_guesses(planner).front().drafted, 1);
  planner.add({.key = job(2), .tokens = tokens_of(job(2), 1000)});
  EXPECT_TRUE(planner.on_no_room());
  for (const Part& each : plan(planner)) EXPECT_EQ(each.job, job(2)) << "it pauses";
  int times = 0;
  for (; planner.on_no_room() && times < 10; ++times) plan(planner);
  EXPECT_LT(times, 10);
}

TEST(BatchPlannerDraft, CutsOffWhatWasWrong) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  const Parts parts = first_with_guesses(planner);
  ASSERT_EQ(parts.size(), 1);
  ASSERT_GT(parts[0].drafted, 1);
  EXPECT_TRUE(parts[0].last);
  const auto known = static_cast<std::uint32_t>(planner.tokens({0}).size());
  EXPECT_EQ(planner.guess({0})[0], said(known));
  planner.on_computed(microseconds{1100});
  EXPECT_TRUE(planner.on_token({0}, said(known)));
  EXPECT_FALSE(planner.on_token({0}, {99}));
  EXPECT_EQ(planner.take_changes(), (Changes{{{0}, {0}, known + 1}}));
  EXPECT_EQ(plan(planner).front().begin, known + 1);
}

TEST(BatchPlannerDraft, AnEndWithinAGuessLeavesOnlyWhatIsRight) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  ASSERT_GT(first_with_guesses(planner).front().drafted, 1);
  const auto known = static_cast<std::uint32_t>(planner.tokens({0}).size());
  planner.on_computed(microseconds{1100});
  EXPECT_TRUE(planner.on_token({0}, said(known)));
  planner.on_end(job(1));
  EXPECT_EQ(planner.take_changes(), (Changes{{{0}, {0}, known + 1}}));
  planner.add({.key = job(2), .tokens = said_up_to(said, known + 9)});
  plan(planner);
  EXPECT_EQ(planner.reused({0}), known + 1);
}

TEST(BatchPlannerDraft, GuessesNoFurtherThanAJobMayGo) {
  for (std::uint32_t room = 1; room < 20; ++room) {
    BatchPlanner planner{kLimits};
    planner.add({.key = job(1), .tokens = said_up_to(said, 60), .tokens_max = 80 + room});
    while (planner.tokens({0}).size() < 80 + room) {
      const Parts parts = plan(planner);
      EXPECT_LE(parts.front().begin + parts.front().count + parts.front().drafted, 80 + room);
      say(planner, parts);
    }
  }
}

// All have as many rows, so that one pass computes them.
TEST(BatchPlannerDraft, GivesAllAsManyRows) {
  BatchPlanner planner{kLimits};
  for (const std::uint64_t id : {1U, 2U, 3U})
    planner.add({.key = job(id), .tokens = said_up_to(said, 20)});
  std::set<std::uint32_t> drafted;
  for (int i = 0; i < 40; ++i) {
    const Parts parts = plan(planner);
    for (const Part& each : parts) EXPECT_EQ(each.drafted, parts.front().drafted);
    drafted.insert(parts.front().drafted);
    say(planner, parts);
  }
  EXPECT_EQ(drafted, (std::set<std::uint32_t>{0, 1}));  // Eight rows for three.
}

TEST(BatchPlannerDraft, GuessesNothingBesideAPromptOrAGap) {
  BatchPlanner planner{kLimits};
  for (const std::uint64_t id : {1U, 2U, 3U})
    planner.add({.key = job(id), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 30; ++i) say(planner);
  planner.add({.key = job(4), .tokens = tokens_of(job(4), 90)});
  for (Parts parts = plan(planner); parts.size() > 3; parts = plan(planner)) {
    for (const Part& each : parts) EXPECT_EQ(each.drafted, 0);
    say(planner, parts);
    if (parts.back().last && parts.back().job == job(4)) planner.on_end(job(4));
  }
  planner.on_end(job(2));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(say(planner), 2);
}

// With as many as that a row costs as much as a token.
TEST(BatchPlannerDraft, GuessesNothingWhereManyDecode) {
  BatchPlanner planner{
      {.sequences_max = 4, .batch_tokens_max = 64, .gap_max = 2, .draft_tokens_max = 3}};
  for (const std::uint64_t id : {1U, 2U, 3U, 4U})
    planner.add({.key = job(id), .tokens = said_up_to(said, 16)});
  for (int i = 0; i < 30; ++i) EXPECT_EQ(say(planner), 4);
}

TEST(BatchPlannerDraft, GivesUpGuessesBeforeAJobWhereRoomIsShort) {
  PlannerLimits shared = kLimits;
  shared.gap_max = 0;
  BatchPlanner planner{shared};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  ASSERT_GT(first_with_guesses(planner).front().drafted, 0);
  ASSERT_TRUE(planner.on_no_room());
  EXPECT_TRUE(planner.take_changes().empty());
  EXPECT_EQ(plan(planner).front().drafted, 0);
  EXPECT_FALSE(planner.on_no_room());  // It is the only one, and has nothing to give up.
}

// What a prompt may take is learned from steps without guesses: it must not wait for them.
TEST(BatchPlannerDraft, HoldsUpNoPrompt) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  for (std::uint64_t id = 2; id < 200; ++id) {
    planner.add({.key = job(id), .tokens = tokens_of(job(id), 30)});
    int steps = 0;
    for (bool begun = false; !begun; ++steps) {
      ASSERT_LT(steps, 4) << id;
      const Parts parts = plan(planner);
      for (const Part& each : parts) begun |= each.job == job(id);
      say(planner, parts);
    }
    planner.on_end(job(id));
    say(planner);
    say(planner);
  }
}

// Prompts are computed beside decoding alone.
TEST(BatchPlannerDraft, GivesPromptsTheirRoomWhateverGuessesTake) {
  const auto room = [](microseconds took) {
    PlannerLimits limits = kLimits;
    limits.prefill = {.step_target = microseconds{5000}, .pause_max = {}, .tokens_min = 1};
    BatchPlanner planner{limits};
    planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
    EXPECT_GT(first_with_guesses(planner).front().drafted, 1);
    planner.on_computed(took);
    planner.on_token({0}, {99});
    planner.add({.key = job(2), .tokens = tokens_of(job(2), 60)});
    return plan(planner).back().count;
  };
  EXPECT_EQ(room(microseconds{1100}), room(microseconds{90'000}));
  EXPECT_LT(room(microseconds{1100}), 60);
}

// Whatever is guessed, each token is chosen behind all tokens of its own job and nothing else.
TEST(BatchPlannerDraft, ComputesEveryTokenInOrderUnderRandomLoad) {
  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    DraftLoad load{seed, {.said = said}};
    load.run();
    if (HasFatalFailure()) return;
    drafted += load.drafted;
    accepted += load.accepted;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(drafted, accepted);
}

}  // namespace
}  // namespace seedance::sched
