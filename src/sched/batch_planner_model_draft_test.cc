// What the planner has a draft model guess.
#include <gtest/gtest.h>

#include <algorithm>

#include "sched/batch_planner.h"
#include "sched/draft_harness.h"

namespace seedance::sched {
namespace {

using std::chrono::microseconds;

constexpr PlannerLimits kLimits{.sequences_max = 4,
                                .batch_tokens_max = 64,
                                .gap_max = 2,
                                .reuse_min = 4,
                                .draft_tokens_max = 8,
                                .draft_ngrams = false,
                                .draft_model = true};

// The token that every sequence says at a place: nothing again.
TokenId said(std::size_t at) {
  return {static_cast<std::int32_t>(at)};
}

std::uint32_t say(BatchPlanner& planner, const Parts& parts) {
  return say(planner, parts, said, 0.05);
}

template <typename Guessed>
std::uint32_t step(BatchPlanner& planner, Small& small, const Guessed& guess) {
  const Parts parts = plan(planner);
  small.carry_out(planner, guess);
  return say(planner, parts);
}

TokenId wrong(std::size_t /*at*/) {
  return {-1};
}

TEST(BatchPlannerModelDraft, ComputesAheadWhatAModelGuesses) {
  BatchPlanner planner{kLimits};
  Small small{4};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  std::uint32_t most = 0;
  for (int i = 0; i < 60; ++i) most = std::max(most, step(planner, small, said));
  EXPECT_EQ(most, 8);  // Seven guesses and one behind them.
  const auto [tokens, accepted] = planner.take_drafts();
  EXPECT_EQ(tokens, accepted);
  EXPECT_GT(tokens, 100);
  EXPECT_TRUE(planner.take_changes().empty());  // Nothing was wrong.
}

TEST(BatchPlannerModelDraft, UsesNoneThatIsWrong) {
  BatchPlanner planner{kLimits};
  Small small{4};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(step(planner, small, wrong), 1);
  EXPECT_LT(planner.take_drafts().tokens, 40);
  EXPECT_GT(small.asked, 10);
}

TEST(BatchPlannerModelDraft, IsOffByDefault) {
  PlannerLimits limits = kLimits;
  limits.draft_model = PlannerLimits{}.draft_model;
  BatchPlanner planner{limits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 60; ++i) {
    plan(planner);
    EXPECT_TRUE(planner.draft_work().empty());
    say(planner, plan(planner));
  }
}

TEST(BatchPlannerModelDraft, CutsOffWhatWasWrong) {
  BatchPlanner planner{kLimits};
  Small small{4};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 40; ++i) step(planner, small, said);
  Parts parts = plan(planner);
  small.carry_out(planner, said);
  ASSERT_GT(parts.front().drafted, 1);
  const auto known = static_cast<std::uint32_t>(planner.tokens({0}).size());
  EXPECT_EQ(planner.guess({0})[0], said(known));
  planner.on_computed(microseconds{1100});
  EXPECT_TRUE(planner.on_token({0}, said(known)));
  EXPECT_FALSE(planner.on_token({0}, {-5}));
  EXPECT_EQ(planner.take_changes(), (Changes{{{0}, {0}, known + 1}}));
}

TEST(BatchPlannerModelDraft, AsksForNothingBesideAPromptOrWhereManyDecode) {
  PlannerLimits limits = kLimits;
  limits.draft_tokens_max = 2;
  BatchPlanner planner{limits};
  Small small{4};
  for (const std::uint64_t id : {1U, 2U})
    planner.add({.key = job(id), .tokens = said_up_to(said, 20)});
  for (int i = 0; i < 40; ++i) step(planner, small, said);
  EXPECT_GT(small.asked, 0);
  planner.add({.key = job(3), .tokens = tokens_of(job(3), 200)});
  const std::uint32_t before = small.asked;
  for (int i = 0; i < 40; ++i) step(planner, small, said);
  EXPECT_EQ(small.asked, before);
}

TEST(BatchPlannerModelDraft, KnowsNoAdapters) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(said, 20), .scope = {.adapter = 1}});
  for (int i = 0; i < 60; ++i) {
    const Parts parts = plan(planner);
    EXPECT_TRUE(planner.draft_work().empty());
    EXPECT_EQ(say(planner, parts), 1);
  }
}

// Where a text repeats, its guesses cost nothing; where it does not, the model's are better.
TEST(BatchPlannerModelDraft, TakesTheBetterOfBoth) {
  PlannerLimits limits = kLimits;
  limits.draft_ngrams = true;
  const auto again = [](std::size_t at) { return said(at % 5); };
  BatchPlanner planner{limits};
  Small small{4};
  std::vector<TokenId> tokens;
  for (std::size_t at = 0; at < 40; ++at) tokens.push_back(again(at));
  planner.add({.key = job(1), .tokens = tokens});
  for (int i = 0; i < 100; ++i) {
    const Parts parts = plan(planner);
    const std::uint32_t guesses =
        planner.draft_work().empty() ? 0 : planner.draft_work()[0].guesses;
    EXPECT_LE(guesses, 4) << "it only tries itself";
    small.carry_out(planner, wrong);
    planner.on_computed(microseconds{1000});
    for (bool more = parts[0].last; more;) {
      more = planner.on_token({0}, again(planner.tokens({0}).size()));
    }
  }
  EXPECT_GT(planner.take_drafts().accepted, 100);
  planner.add({.key = job(2), .tokens = said_up_to(said, 20)});
  planner.on_end(job(1));
  std::uint32_t most = 0;
  for (int i = 0; i < 300; ++i) most = std::max(most, step(planner, small, said));
  EXPECT_EQ(most, 8);
}

TEST(BatchPlannerModelDraft, KeepsBothMemoriesInOrderUnderRandomLoad) {
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    DraftLoad load{seed, {.said = said, .model = true}};
    load.run();
    if (HasFatalFailure()) return;
    accepted += load.accepted;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace seedance::sched
