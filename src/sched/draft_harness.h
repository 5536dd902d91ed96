// What tests of guesses share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/harness.h"

namespace seedance::sched {

// The token that a sequence says at a place.
using Said = TokenId (*)(std::size_t at);

inline std::vector<TokenId> said_up_to(Said said, std::size_t count) {
  std::vector<TokenId> tokens;
  for (std::size_t at = 0; at < count; ++at) tokens.push_back(said(at));
  return tokens;
}

// Computes a plan and takes the tokens that the sequences say; how many. A row costs so much of
// a millisecond, which is what a step takes besides.
inline std::uint32_t say(BatchPlanner& planner, const Parts& parts, Said said, double row) {
  std::uint32_t rows = 0;
  for (const Part& each : parts) rows += each.count + each.drafted;
  planner.on_computed(std::chrono::microseconds{static_cast<int>(1000 * (1 + (row * rows)))});
  std::uint32_t tokens = 0;
  for (const Part& each : parts) {
    for (bool more = each.last; more; ++tokens) {
      more = planner.on_token(each.slot, said(planner.tokens(each.slot).size()));
    }
  }
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
      std::vector<TokenId>& held = held_[slot.value];
      ASSERT_GE(held.size(), begin);
      if (count == 0) {
        ASSERT_GT(at, 0U);
        ASSERT_EQ(begin, 0U);
        held.clear();
        continue;
      }
      const auto known = planner.tokens(slot);
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
    planner.on_drafted(guesses, std::chrono::microseconds{100 * std::max(1U, work[0].guesses)});
  }

  void fail(BatchPlanner& planner) {
    for (auto& held : held_) held.clear();
    planner.on_draft_failed();
  }

  std::uint32_t asked = 0;  // Works.

 private:
  std::vector<std::vector<TokenId>> held_;
};

// Memories of both models, and jobs that come, go, fail and are cancelled.
class DraftLoad {
 public:
  struct Kind {
    Said said;
    bool model = false;  // Whether a draft model guesses, too.
  };

  DraftLoad(std::uint64_t seed, Kind kind) : random_(seed), kind_(kind), planner_(limits_) {}

  void run() {
    for (int round = 0; round < 400 || !planner_.idle(); ++round) {
      ASSERT_LT(round, 5000) << "no progress";
      if (round < 400 && random_.below(12) == 0) add_one();
      if (random_.below(60) == 0) planner_.cancel(job(random_.below(next_id_ + 1)));
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto [tokens, right] = planner_.take_drafts();
    drafted = tokens;
    EXPECT_LE(right, tokens);
    EXPECT_EQ(right, accepted);
  }

  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;

 private:
  void add_one() {
    auto tokens = said_up_to(kind_.said, 1 + random_.below(30));
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
    Parts parts = planned();
    if (random_.below(30) == 0) {
      for (int times = 0; random_.below(10) > 0; ++times) {
        ASSERT_LT(times, 100) << "it finds room for ever";
        if (!planner_.on_no_room()) return;
        parts = planned();
      }
    }
    std::uint32_t rows = 0;
    for (const Part& each : parts) {
      rows += each.count + each.drafted;
      memory_.compute(each, planner_.tokens(each.slot));
      if (each.drafted > 0) memory_.guess(each, planner_.guess(each.slot));
    }
    EXPECT_LE(rows, limits_.batch_tokens_max);
    planner_.on_computed(std::chrono::microseconds{1000 + (rows * random_.below(200))});
    for (const Part& each : parts) {
      if (each.last) choose(each);
    }
  }

  // Once it can be computed, and guessed.
  Parts planned() {
    Parts parts = plan(planner_);
    while (!move()) parts = plan(planner_);
    if (random_.below(200) == 0) {
      small_.fail(planner_);
    } else {
      small_.carry_out(planner_, [this](std::size_t at) {
        return random_.below(20) == 0 ? TokenId{-3} : kind_.said(at);
      });
    }
    return parts;
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
      more = planner_.on_token(part.slot, random_.below(20) == 0 ? TokenId{77} : kind_.said(known));
      accepted += more ? 1 : 0;
      if (known + 1 >= most_.at(part.job.id) || random_.below(60) == 0) {
        planner_.on_end(part.job);
        return;
      }
      if (random_.below(200) == 0) return planner_.on_failed(part.job);
    }
  }

  Prng random_;
  const Kind kind_;
  const PlannerLimits limits_{.sequences_max = 5,
                              .batch_tokens_max = static_cast<std::uint32_t>(6 + random_.below(30)),
                              .gap_max = static_cast<std::uint32_t>(random_.below(4)),
                              .reuse_min = 4,
                              .draft_tokens_max = static_cast<std::uint32_t>(random_.below(24)),
                              .draft_ngrams = !kind_.model || random_.below(2) == 0,
                              .draft_model = kind_.model,
                              .park_bytes_max = 10'000,
                              .sequence_bytes = {.token = 1}};
  BatchPlanner planner_;
  Memory memory_{limits_.sequences_max};
  Small small_{limits_.sequences_max};
  std::map<std::uint64_t, std::uint32_t> most_;
  std::uint64_t next_id_ = 0;
};

}  // namespace seedance::sched
