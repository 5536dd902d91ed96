#include "llama/batch.h"

#include "base/check.h"

namespace seedance::llama {

Batch::Batch(std::uint32_t tokens_max) {
  tokens_.reserve(tokens_max);
  positions_.reserve(tokens_max);
  sequences_.reserve(tokens_max);
  outputs_.reserve(tokens_max);
  sequence_counts_.assign(tokens_max, 1);
  for (std::uint32_t at = 0; at < tokens_max; ++at) {
    sequence_lists_.push_back(sequences_.data() + at);
  }
}

void Batch::clear() {
  tokens_.clear();
  positions_.clear();
  sequences_.clear();
  outputs_.clear();
}

void Batch::add(sched::Slot slot, std::uint32_t position, TokenId token, bool output) {
  SEEDANCE_CHECK(size() < sequence_lists_.size(), "a batch has no room for so many tokens");
  tokens_.push_back(token.value);
  positions_.push_back(static_cast<llama_pos>(position));
  sequences_.push_back(static_cast<llama_seq_id>(slot.value));
  outputs_.push_back(output ? 1 : 0);
}

llama_batch Batch::view() {
  return {.n_tokens = static_cast<std::int32_t>(size()),
          .token = tokens_.data(),
          .embd = nullptr,
          .pos = positions_.data(),
          .n_seq_id = sequence_counts_.data(),
          .seq_id = sequence_lists_.data(),
          .logits = outputs_.data()};
}

}  // namespace seedance::llama
