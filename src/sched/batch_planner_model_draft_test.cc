// What the planner has a draft model guess.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "sched/batch_planner.h"
#include "sched/harness.h"

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

std::vector<TokenId> said_up_to(std::size_t count) {
  std::vector<TokenId> tokens;
  for (std::size_t at = 0; at < count; ++at) tokens.push_back(said(at));
  return tokens;
}

// What a draft model holds, and that it is asked only for what it can do.
class Small {
 public:
  explicit Small(std::uint32_t slots) : held_(slots) {}

  // A guess for a place is `guess(place)`, and takes a tenth of a step.
  template <typename Guessed>
  void carry_out(BatchPlanner& planner, const Guessed& guess) {
    const auto work = planner.draft_work();
    if (work.empty()) return;
    std::vector<std::vector<TokenId>> guesses(work.size());
    for (std::size_t at = 0; at < work.size(); ++at) {
      const auto [slot, begin, count, wanted] = work[at];
      const auto known = planner.tokens(slot);
      std::vector<TokenId>& held = held_[slot.value];
      ASSERT_GE(held.size(), begin);
      ASSERT_GT(count, 0);
      held.resize(begin);
      held.insert(held.end(), known.begin() + begin, known.begin() + begin + count);
      ASSERT_TRUE(std::ranges::equal(held, known.first(begin + count)));
      if (wanted == 0) continue;
      ASSERT_EQ(begin + count, known.size());
      for (std::uint32_t more = 0; more < wanted; ++more) {
        if (more > 0) held.push_back(guesses[at].back());
        guesses[at].push_back(guess(known.size() + more));
      }
    }
    asked += static_cast<std::uint32_t>(work.size());
    planner.on_drafted(guesses, microseconds{100 * std::max(1U, work[0].guesses)});
  }

  void fail(BatchPlanner& planner) {
    for (auto& held : held_) held.clear();
    planner.on_draft_failed();
  }

  std::uint32_t asked = 0;  // Works.

 private:
  std::vector<std::vector<TokenId>> held_;
};

// Computes a plan and takes the tokens that the sequences say; how many. A row costs little.
std::uint32_t say(BatchPlanner& planner, const Parts& parts) {
  std::uint32_t rows = 0;
  for (const Part& each : parts) rows += each.count + each.drafted;
  planner.on_computed(microseconds{1000 + (50 * rows)});
  std::uint32_t tokens = 0;
  for (const Part& each : parts) {
    for (bool more = each.last; more; ++tokens) {
      more = planner.on_token(each.slot, said(planner.tokens(each.slot).size()));
    }
  }
  return tokens;
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
  planner.add({.key = job(1), .tokens = said_up_to(20)});
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
  planner.add({.key = job(1), .tokens = said_up_to(20)});
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(step(planner, small, wrong), 1);
  EXPECT_LT(planner.take_drafts().tokens, 40);
  EXPECT_GT(small.asked, 10);
}

TEST(BatchPlannerModelDraft, IsOffByDefault) {
  PlannerLimits limits = kLimits;
  limits.draft_model = PlannerLimits{}.draft_model;
  BatchPlanner planner{limits};
  planner.add({.key = job(1), .tokens = said_up_to(20)});
  for (int i = 0; i < 60; ++i) {
    plan(planner);
    EXPECT_TRUE(planner.draft_work().empty());
    say(planner, plan(planner));
  }
}

TEST(BatchPlannerModelDraft, CutsOffWhatWasWrong) {
  BatchPlanner planner{kLimits};
  Small small{4};
  planner.add({.key = job(1), .tokens = said_up_to(20)});
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
  for (const std::uint64_t id : {1U, 2U}) planner.add({.key = job(id), .tokens = said_up_to(20)});
  for (int i = 0; i < 40; ++i) step(planner, small, said);
  EXPECT_GT(small.asked, 0);
  planner.add({.key = job(3), .tokens = tokens_of(job(3), 200)});
  const std::uint32_t before = small.asked;
  for (int i = 0; i < 40; ++i) step(planner, small, said);
  EXPECT_EQ(small.asked, before);
}

TEST(BatchPlannerModelDraft, KnowsNoAdapters) {
  BatchPlanner planner{kLimits};
  planner.add({.key = job(1), .tokens = said_up_to(20), .scope = {.adapter = 1}});
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
  planner.add({.key = job(2), .tokens = said_up_to(20)});
  planner.on_end(job(1));
  std::uint32_t most = 0;
  for (int i = 0; i < 300; ++i) most = std::max(most, step(planner, small, said));
  EXPECT_EQ(most, 8);
}

// Memories of both models, and jobs that come, go, fail and are cancelled.
class ModelDraftLoad {
 public:
  explicit ModelDraftLoad(std::uint64_t seed) : random_(seed), planner_(limits_) {}

  void run() {
    for (int round = 0; round < 400 || !planner_.idle(); ++round) {
      ASSERT_LT(round, 5000) << "no progress";
      if (round < 400 && random_.below(12) == 0) add_one();
      if (random_.below(60) == 0) planner_.cancel(job(random_.below(next_id_ + 1)));
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto [tokens, right] = planner_.take_drafts();
    EXPECT_LE(right, tokens);
    EXPECT_EQ(right, accepted);
  }

  std::uint64_t accepted = 0;
  std::uint64_t again = 0;  // Times that a plan with work was not carried out.

 private:
  void add_one() {
    auto tokens = said_up_to(1 + random_.below(30));
    const auto most = static_cast<std::uint32_t>(tokens.size() + 1 + random_.below(60));
    const auto adapter = static_cast<std::uint32_t>(random_.below(8) == 0 ? 1 : 0);
    planner_.add({.key = job(next_id_),
                  .tokens = std::move(tokens),
                  .priority = kPriorities[random_.below(3)],
                  .scope = {.adapter = adapter},
                  .tokens_max = most});
    most_[next_id_++] = most;
  }

  void step() {
    Parts parts = plan(planner_);
    while (!move()) {
      again += planner_.draft_work().empty() ? 0 : 1;
      parts = plan(planner_);
    }
    if (random_.below(200) == 0) {
      small_.fail(planner_);
    } else {
      small_.carry_out(planner_, [this](std::size_t at) {
        return random_.below(20) == 0 ? TokenId{-3} : said(at);
      });
    }
    if (random_.below(30) == 0) {
      planner_.on_no_room();
      return;
    }
    for (const Part& each : parts) {
      memory_.compute(each, planner_.tokens(each.slot));
      if (each.drafted > 0) memory_.guess(each, planner_.guess(each.slot));
    }
    planner_.on_computed(microseconds{1000});
    for (const Part& each : parts) {
      if (each.last) choose(each);
    }
  }

  // Carries out what is to be done to the memory. Whether the batch can be computed.
  bool move() {
    bool as_planned = true;
    for (const KvChange& each : planner_.take_changes()) {
      const bool moves =
          each.slot != each.from && (memory_.in_host(each.slot) || memory_.in_host(each.from));
      const bool done = !moves || (memory_.holds(each) && random_.below(3) > 0);
      done ? memory_.change(each) : memory_.fail(each);
      if (moves) as_planned = planner_.on_moved({.change = each, .done = done}) && as_planned;
    }
    return as_planned;
  }

  void choose(const Part& part) {
    for (bool more = true; more;) {
      const std::size_t known = planner_.tokens(part.slot).size();
      more = planner_.on_token(part.slot, random_.below(20) == 0 ? TokenId{77} : said(known));
      accepted += more ? 1 : 0;
      if (known + 1 >= most_.at(part.job.id) || random_.below(60) == 0) {
        planner_.on_end(part.job);
        return;
      }
      if (random_.below(200) == 0) return planner_.on_failed(part.job);
    }
  }

  Prng random_;
  const PlannerLimits limits_{.sequences_max = 5,
                              .batch_tokens_max = static_cast<std::uint32_t>(6 + random_.below(30)),
                              .gap_max = static_cast<std::uint32_t>(random_.below(4)),
                              .reuse_min = 4,
                              .draft_tokens_max = static_cast<std::uint32_t>(random_.below(24)),
                              .draft_ngrams = random_.below(2) == 0,
                              .draft_model = true,
                              .park_bytes_max = 10'000,
                              .sequence_bytes = {.token = 1}};
  BatchPlanner planner_;
  Memory memory_{limits_.sequences_max};
  Small small_{limits_.sequences_max};
  std::map<std::uint64_t, std::uint32_t> most_;
  std::uint64_t next_id_ = 0;
};

TEST(BatchPlannerModelDraft, KeepsBothMemoriesInOrderUnderRandomLoad) {
  std::uint64_t accepted = 0;
  std::uint64_t again = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ModelDraftLoad load{seed};
    load.run();
    if (HasFatalFailure()) return;
    accepted += load.accepted;
    again += load.again;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(again, 0);
}

}  // namespace
}  // namespace seedance::sched
