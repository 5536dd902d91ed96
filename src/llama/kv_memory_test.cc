#include "llama/kv_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using sched::KvChange;

// Four sequences, each with memory of its own or all with the same.
class KvMemoryTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    auto model = Model::load({.model_path = test_model_path(),
                              .context_tokens = 64,
                              .sequences_max = 4,
                              .threads = 1,
                              .shared_tokens = GetParam()},
                             log_, [](float) {});
    ASSERT_TRUE(model) << model.error().detail;
    model_ = *std::move(model);
    memory_.emplace(model_->context(), model_->shares_memory(), model_->sequence_bytes());
  }

  // The logits behind the last token, in a slot that holds what is before `begin`.
  std::vector<float> compute(std::int32_t slot, std::span<const TokenId> tokens,
                             std::size_t begin) {
    llama_batch batch = llama_batch_init(64, 0, 1);
    for (std::size_t at = begin; at < tokens.size(); ++at) {
      const auto row = static_cast<std::size_t>(batch.n_tokens++);
      batch.token[row] = tokens[at].value;
      batch.pos[row] = static_cast<llama_pos>(at);
      batch.n_seq_id[row] = 1;
      batch.seq_id[row][0] = slot;
      batch.logits[row] = at + 1 == tokens.size() ? 1 : 0;
    }
    EXPECT_EQ(llama_decode(model_->context(), batch), 0);
    const float* logits = llama_get_logits_ith(model_->context(), -1);
    std::vector<float> copy(logits, logits + model_->vocabulary_size());
    llama_batch_free(batch);
    return copy;
  }

  void carry_out(std::vector<KvChange> changes) {
    const auto moves = memory_->carry_out(changes);
    ASSERT_TRUE(moves) << moves.error().detail;
    for (const sched::KvMove& move : *moves) EXPECT_TRUE(move.done);
  }

  static float difference(const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (std::size_t at = 0; at < a.size(); ++at) most = std::max(most, std::abs(a[at] - b[at]));
    return most;
  }

  LogCapture log_;
  std::unique_ptr<Model> model_;
  std::optional<KvMemory> memory_;
  const std::vector<TokenId> first_ = random_prompt(1, 40);
  const std::vector<TokenId> other_ = random_prompt(2, 20);
};

TEST_P(KvMemoryTest, ACopiedPrefixComputesLikeItsOwn) {
  std::vector<TokenId> forked{first_.begin(), first_.begin() + 25};
  forked.insert(forked.end(), other_.begin(), other_.end());
  const auto expected = compute(3, forked, 0);
  const auto whole = compute(0, first_, 0);
  compute(1, other_, 0);
  // Slot 1 gives up what it holds; what slot 2 gets comes from the copy.
  carry_out({{{1}, {0}, 25}, {{2}, {0}, 39}});
  EXPECT_LT(difference(compute(1, forked, 25), expected), kEpsilon);
  EXPECT_LT(difference(compute(2, first_, 39), whole), kEpsilon);
  carry_out({{{0}, {0}, 39}});
  EXPECT_LT(difference(compute(0, first_, 39), whole), kEpsilon);
}

// What was read of a slot is not what the slot holds after a change.
TEST_P(KvMemoryTest, ChangesAreCarriedOutInOrder) {
  const auto expected = compute(3, other_, 0);
  compute(0, first_, 0);
  compute(1, other_, 0);
  carry_out({{{2}, {0}, 40}, {{0}, {1}, 20}, {{1}, {0}, 19}});
  EXPECT_LT(difference(compute(1, other_, 19), expected), kEpsilon);
}

// A slot that was copied from is read anew when it holds something else: after a copy to
// it, and after it was computed on.
TEST_P(KvMemoryTest, NothingStaleIsCopied) {
  std::vector<TokenId> longer = other_;
  longer.push_back(first_[0]);
  longer.push_back(first_[1]);
  const auto other = compute(3, other_, 0);
  const auto after_two = compute(3, longer, 20);
  compute(0, first_, 0);
  compute(1, other_, 0);
  carry_out({{{2}, {0}, 40}, {{0}, {1}, 20}, {{2}, {0}, 19}});
  EXPECT_LT(difference(compute(2, other_, 19), other), kEpsilon);
  carry_out({{{2}, {0}, 20}, {{0}, {0}, 10}, {{2}, {0}, 10}});
  EXPECT_LT(difference(compute(2, other_, 10), other), kEpsilon);
  carry_out({{{2}, {1}, 20}});
  compute(1, longer, 20);
  carry_out({{{2}, {1}, 21}});
  EXPECT_LT(difference(compute(2, longer, 21), after_two), kEpsilon);
}

TEST_P(KvMemoryTest, ACutSequenceGoesOnFromThere) {
  const auto expected = compute(3, other_, 0);
  compute(0, other_, 0);
  carry_out({{{0}, {0}, 7}});
  EXPECT_LT(difference(compute(0, other_, 7), expected), kEpsilon);
  carry_out({{{0}, {0}, 0}});
  EXPECT_LT(difference(compute(0, other_, 0), expected), kEpsilon);
}

TEST_P(KvMemoryTest, WhatIsRestoredComputesLikeItsOwn) {
  const auto expected = compute(3, other_, 0);
  compute(0, other_, 0);
  carry_out({{{0}, {0}, 19}, {{7}, {0}, 19}, {{0}, {0}, 0}, {{2}, {7}, 19}});
  EXPECT_LT(difference(compute(2, other_, 19), expected), kEpsilon);
}

// A slot that was copied from is read anew when something was restored there.
TEST_P(KvMemoryTest, NothingStaleIsCopiedBehindWhatIsRestored) {
  const auto expected = compute(3, other_, 0);
  compute(0, other_, 0);
  compute(1, first_, 0);
  carry_out({{{7}, {0}, 20}, {{2}, {1}, 40}, {{1}, {7}, 20}, {{2}, {1}, 19}});
  EXPECT_LT(difference(compute(2, other_, 19), expected), kEpsilon);
}

TEST_P(KvMemoryTest, TellsWhatBecameOfEachMove) {
  compute(0, other_, 0);
  const std::vector<KvChange> changes{{{7}, {0}, 20}, {{8}, {0}, 20}, {{8}, {8}, 0},
                                      {{1}, {8}, 20}, {{1}, {7}, 20}, {{2}, {7}, 20}};
  const auto moves = memory_->carry_out(changes);
  ASSERT_TRUE(moves);
  std::vector<bool> done;
  for (const sched::KvMove& move : *moves) done.push_back(move.done);
  EXPECT_EQ(done, (std::vector<bool>{true, true, false, true, false}));  // 8 was dropped, 7 moved.
}

TEST_P(KvMemoryTest, ASequenceTakesWhatTheModelSays) {
  compute(0, first_, 0);
  EXPECT_EQ(model_->sequence_bytes().of(40), llama_state_seq_get_size(model_->context(), 0));
}

TEST_P(KvMemoryTest, SavesNothingThatIsLargerThanItMayBe) {
  auto bytes = model_->sequence_bytes();
  bytes.token -= 1;
  memory_.emplace(model_->context(), model_->shares_memory(), bytes);
  compute(0, first_, 0);
  const std::vector<KvChange> changes{{{7}, {0}, 40}};
  EXPECT_FALSE(memory_->carry_out(changes)->at(0).done);
}

TEST_P(KvMemoryTest, SavesNothingWhereMemoryIsShort) {
  memory_.emplace(model_->context(), model_->shares_memory(), model_->sequence_bytes(),
                  [] { return std::uint64_t{1} << 20U; });
  compute(0, first_, 0);
  const std::vector<KvChange> changes{{{7}, {0}, 40}, {{1}, {7}, 40}};
  const auto moves = memory_->carry_out(changes);
  EXPECT_FALSE(moves->at(0).done);
  EXPECT_FALSE(moves->at(1).done);
}

TEST_P(KvMemoryTest, KeepsWhatFindsNoRoom) {
  if (!model_->shares_memory()) return;
  const auto expected = compute(3, first_, 0);
  carry_out({{{3}, {3}, 39}, {{7}, {3}, 39}, {{3}, {3}, 0}});
  for (std::int32_t slot = 0; slot < 3; ++slot) {
    const auto others = random_prompt(9, 80);
    compute(slot, std::span{others}.first(50), 0);
    compute(slot, others, 50);
  }
  const std::vector<KvChange> changes{{{3}, {7}, 39}};
  EXPECT_FALSE(memory_->carry_out(changes)->at(0).done);  // 16 of 256 are free.
  carry_out({{{0}, {0}, 0}, {{3}, {7}, 39}});
  EXPECT_LT(difference(compute(3, first_, 39), expected), kEpsilon);
}

TEST_P(KvMemoryTest, UsualModelsCanBeCut) {
  EXPECT_TRUE(model_->can_cut());
}

INSTANTIATE_TEST_SUITE_P(OwnAndShared, KvMemoryTest, testing::Values(0U, 256U));

}  // namespace
}  // namespace seedance::llama
