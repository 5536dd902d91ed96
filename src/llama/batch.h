// What one call of llama.cpp computes.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "sched/kv_slots.h"

namespace seedance::llama {

// Tokens in the form that llama.cpp takes, at most as many as it was made for.
class Batch {
 public:
  explicit Batch(std::uint32_t tokens_max);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear();
  void add(sched::Slot slot, std::uint32_t position, TokenId token, bool output);
  std::size_t size() const { return tokens_.size(); }

  // Valid until the next change.
  llama_batch view();

 private:
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<llama_seq_id> sequences_;
  std::vector<llama_seq_id*> sequence_lists_;
  std::vector<std::int32_t> sequence_counts_;
  std::vector<std::int8_t> outputs_;
};

}  // namespace seedance::llama
