// What tests of the planner share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
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

// A model's memory, and the host's behind it, as the changes and batches make them.
class Memory {
 public:
  explicit Memory(std::uint32_t slots) : model_slots_(slots), slots_(slots) {}

  void change(const Changes& changes) {
    for (const KvChange& each : changes) change(each);
  }

  void change(const KvChange& change) {
    std::vector<TokenId> tokens = at(change.from);
    ASSERT_LE(change.tokens, tokens.size());
    tokens.resize(change.tokens);
    if (in_host(change.from)) at(change.from).clear();
    at(change.slot) = tokens;
  }

  // What is to be moved.
  bool holds(const KvChange& change) { return at(change.from).size() >= change.tokens; }

  // Of a change that is not done.
  void fail(const KvChange& change) { at(change.slot).clear(); }

  // Whether they may be computed there.
  void compute(const Part& part, std::span<const TokenId> known) {
    std::vector<TokenId>& tokens = at(part.slot);
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
    std::vector<TokenId>& tokens = at(part.slot);
    for (std::uint32_t index = 0; index < part.drafted; ++index) {
      tokens.push_back(index < guess.size() ? guess[index] : TokenId{-2});
    }
  }

  std::uint64_t tokens() const {  // In the model's.
    std::uint64_t all = 0;
    for (std::size_t slot = 0; slot < model_slots_; ++slot) all += slots_[slot].size();
    return all;
  }

  bool in_host(Slot slot) const { return slot.value >= model_slots_; }
  std::uint64_t host_bytes(SequenceBytes sequence) const {
    std::uint64_t bytes = 0;
    for (std::size_t slot = model_slots_; slot < slots_.size(); ++slot) {
      const auto tokens = static_cast<std::uint32_t>(slots_[slot].size());
      bytes += tokens > 0 ? sequence.of(tokens) : 0;
    }
    return bytes;
  }

 private:
  std::vector<TokenId>& at(Slot slot) {
    if (slot.value >= slots_.size()) slots_.resize(slot.value + 1);
    return slots_[slot.value];
  }

  std::uint32_t model_slots_;
  std::vector<std::vector<TokenId>> slots_;
};

// One in so many steps, tokens or moves; 0 = never.
struct Mishaps {
  std::uint64_t no_room = 0;
  std::uint64_t cancel = 0;
  std::uint64_t fail = 0;
  std::uint64_t not_moved = 0;
};

// Jobs of which many begin alike come and go at random, on a planner of random limits. Checks that
// each token is chosen behind exactly those of its job, all computed with its adapter, that no
// batch has more rows than it may, and the host's memory no more bytes. Who drives it adds jobs.
class RandomLoad {
 public:
  static constexpr std::uint32_t kAdapters = 4;

  struct Known {
    std::vector<TokenId> tokens;
    std::uint32_t adapter = 0;
    std::uint32_t left = 0;   // Tokens until it ends.
    std::uint32_t waits = 0;  // Steps since the last one of these.
  };

  explicit RandomLoad(std::uint64_t seed, Mishaps mishaps = {}, std::uint64_t park_bytes_max = 0)
      : random_(seed), mishaps_(mishaps), limits_(limits(random_, park_bytes_max)) {}

  void add(Priority priority = Priority::interactive, std::uint32_t adapter = 0) {
    const JobKey key = job(added_++);
    std::vector<TokenId> tokens = tokens_of(job(random_.below(3)), 1 + below(40));
    if (random_.below(2) == 0) tokens.push_back({static_cast<std::int32_t>(1'000'000 + key.id)});
    jobs_[key.id] = {.tokens = tokens, .adapter = adapter, .left = 1 + below(12)};
    planner_.add({.key = key,
                  .tokens = std::move(tokens),
                  .priority = priority,
                  .scope = {.adapter = adapter}});
  }

  void step() {
    if (one_in(mishaps_.cancel)) cancel(random_.below(added_ + 1));
    Parts parts = planned();
    if (one_in(mishaps_.no_room)) {
      for (int times = 0; below(10) > 0; ++times) {
        ASSERT_LT(times, 100) << "it finds room for ever";
        if (!planner_.on_no_room()) return;
        parts = planned();
      }
    }
    for (auto& [id, known] : jobs_) known.waits += known.tokens.back().value < 0 ? 1 : 0;
    std::uint32_t rows = 0;
    for (const Part& each : parts) {
      rows += each.count;
      compute(each);
    }
    EXPECT_LE(rows, limits_.batch_tokens_max);
    planner_.on_computed(rows * took_);
    const auto [active, pinned, cached] = planner_.kv_use();
    if (limits_.gap_max > 0) {
      EXPECT_EQ(active + pinned + cached, memory_.tokens());
    }
    pinned_ += pinned;
    for (const Part& each : parts) {
      if (each.last) take(each);
    }
    parked_ += planner_.take_parked();
    restored_ += planner_.take_restored();
  }

  // Nothing is left of anybody.
  void expect_empty() {
    EXPECT_TRUE(jobs_.empty());
    EXPECT_TRUE(move());
    EXPECT_EQ(planner_.saved_bytes(), 0);
    EXPECT_EQ(memory_.host_bytes(limits_.sequence_bytes), 0);
  }

  Prng& random() { return random_; }
  BatchPlanner& planner() { return planner_; }
  const std::map<std::uint64_t, Known>& jobs() const { return jobs_; }  // That have not ended.
  std::uint64_t added() const { return added_; }
  std::uint64_t reused() const { return reused_; }
  std::uint64_t pinned() const { return pinned_; }  // In all steps together.
  std::uint64_t parked() const { return parked_; }
  std::uint64_t saved() const { return saved_; }
  std::uint64_t restored() const { return restored_; }

 private:
  static PlannerLimits limits(Prng& random, std::uint64_t park_bytes_max) {
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random.below(bound));
    };
    return {.sequences_max = 1 + below(6),
            .batch_tokens_max = 7 + below(30),
            .gap_max = below(4),
            .reuse_min = below(3) * 4,
            .park_bytes_max = park_bytes_max,
            .sequence_bytes = {.fixed = below(50), .token = 1 + below(9)}};
  }

  Parts planned() {
    Parts parts = plan(planner_);
    for (int again = 0; !move() && again < 100; ++again) {
      EXPECT_LT(again, 99) << "it plans for ever";
      parts = plan(planner_);
    }
    EXPECT_LE(planner_.saved_bytes(), limits_.park_bytes_max);
    return parts;
  }

  std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  bool one_in(std::uint64_t many) { return many > 0 && random_.below(many) == 0; }

  void cancel(std::uint64_t id) { EXPECT_EQ(planner_.cancel(job(id)), jobs_.erase(id) > 0); }

  // Carries out what is to be done to the memory. Whether the batch can be computed.
  bool move() {
    bool as_planned = true;
    for (const KvChange& each : planner_.take_changes()) {
      const bool host =
          each.slot != each.from && (memory_.in_host(each.slot) || memory_.in_host(each.from));
      const bool done = !host || (memory_.holds(each) && !one_in(mishaps_.not_moved));
      done ? memory_.change(each) : memory_.fail(each);
      EXPECT_LE(memory_.host_bytes(limits_.sequence_bytes), limits_.park_bytes_max);
      if (!host) continue;
      saved_ += done && memory_.in_host(each.slot) ? 1 : 0;
      const KvMove move{.change = each, .took = each.tokens * Duration{below(800)}, .done = done};
      as_planned = planner_.on_moved(move) && as_planned;
    }
    if (!planner_.has_changes()) {
      EXPECT_EQ(planner_.saved_bytes(), memory_.host_bytes(limits_.sequence_bytes));
    }
    return as_planned;
  }

  // Each token of the memory is marked with the adapter that computed it.
  void compute(const Part& part) {
    if (part.filler) return memory_.compute(part, {});
    const Known& known = jobs_.at(part.job.id);
    EXPECT_EQ(known.adapter, planner_.adapter());
    std::vector<TokenId> marked;
    for (const TokenId token : planner_.tokens(part.slot)) {
      marked.push_back({token.value * static_cast<std::int32_t>(kAdapters) +
                        static_cast<std::int32_t>(known.adapter)});
    }
    memory_.compute(part, marked);
  }

  void take(const Part& part) {
    Known& known = jobs_.at(part.job.id);
    EXPECT_TRUE(std::ranges::equal(planner_.tokens(part.slot), known.tokens)) << part.job.id;
    const TokenId token{-static_cast<std::int32_t>(known.tokens.size())};
    known.tokens.push_back(token);
    known.waits = 0;
    reused_ += planner_.reused(part.slot);
    planner_.on_token(part.slot, token);
    if (--known.left == 0) {
      planner_.on_end(part.job);
    } else if (one_in(mishaps_.fail)) {
      planner_.on_failed(part.job);
    } else {
      return;
    }
    jobs_.erase(part.job.id);
  }

  Prng random_;
  Mishaps mishaps_;
  PlannerLimits limits_;
  BatchPlanner planner_{limits_};
  Memory memory_{limits_.sequences_max};
  // Of a row. Where nothing is saved no time passes: then every step has as many as it may.
  Duration took_{limits_.park_bytes_max > 0 ? 1000 : 0};
  std::map<std::uint64_t, Known> jobs_;
  std::uint64_t added_ = 0;
  std::uint64_t reused_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t parked_ = 0;
  std::uint64_t saved_ = 0;
  std::uint64_t restored_ = 0;
};

}  // namespace seedance::sched
