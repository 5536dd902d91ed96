// What tests of the planner share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "sched/batch_planner.h"

namespace seedance::sched {

inline JobKey job(std::uint64_t id, std::uint32_t gen = 1) {
  return {.id = id, .gen = {gen}};
}

// Like nobody else's, if there are few jobs.
inline std::vector<TokenId> tokens_of(JobKey key, std::uint32_t count) {
  std::vector<TokenId> tokens;
  for (std::uint32_t at = 0; at < count; ++at) {
    tokens.push_back({static_cast<std::int32_t>(key.id * 1000 + at)});
  }
  return tokens;
}

using Parts = std::vector<Part>;
using Changes = std::vector<KvChange>;

inline Parts plan(BatchPlanner& planner) {
  const auto parts = planner.plan();
  return {parts.begin(), parts.end()};
}

// Carries a plan out as the worker does: each `last` part gives one token.
inline Parts step(BatchPlanner& planner) {
  Parts parts = plan(planner);
  planner.on_computed({});
  for (const Part& each : parts) {
    if (each.last) planner.on_token(each.slot, {-1});
  }
  return parts;
}

// A model's memory as the changes and batches make it.
class Memory {
 public:
  explicit Memory(std::uint32_t slots) : slots_(slots) {}

  void change(const Changes& changes) {
    for (const auto& [slot, from, count] : changes) {
      std::vector<TokenId> tokens = slots_[from.value];
      ASSERT_LE(count, tokens.size());
      tokens.resize(count);
      slots_[slot.value] = tokens;
    }
  }

  // Whether they may be computed there.
  void compute(const Part& part, std::span<const TokenId> known) {
    std::vector<TokenId>& tokens = slots_[part.slot.value];
    ASSERT_EQ(part.begin, tokens.size());
    if (part.filler) return;
    const auto added = known.subspan(part.begin, part.count);
    tokens.insert(tokens.end(), added.begin(), added.end());
    if (part.last) {
      EXPECT_TRUE(std::ranges::equal(tokens, known));
    }
  }

  // Behind a part that was computed; any tokens where the guess has too few.
  void guess(const Part& part, std::span<const TokenId> guess) {
    std::vector<TokenId>& tokens = slots_[part.slot.value];
    for (std::uint32_t at = 0; at < part.drafted; ++at) {
      tokens.push_back(at < guess.size() ? guess[at] : TokenId{-2});
    }
  }

  std::uint64_t tokens() const {  // In all slots.
    std::uint64_t all = 0;
    for (const std::vector<TokenId>& slot : slots_) all += slot.size();
    return all;
  }

 private:
  std::vector<std::vector<TokenId>> slots_;
};

}  // namespace seedance::sched
