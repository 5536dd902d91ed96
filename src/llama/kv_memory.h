// What a model has in memory of its sequences.
#pragma once

#include <llama.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "sched/kv_slots.h"

namespace seedance::llama {

// Cuts and copies as the planner wants it. Belongs to the thread of the context.
class KvMemory {
 public:
  // `shared`: all sequences share their room (kv_unified). `context` outlives this.
  KvMemory(llama_context* context, bool shared) : context_(context), shared_(shared) {}

  // Whether a sequence can be cut behind any of its tokens: not where the model keeps a
  // state instead of each token, or only the last tokens.
  static bool can_cut(const llama_model* model);

  // In order. An error is final: what the slots hold is unknown then.
  Result<void> carry_out(std::span<const sched::KvChange> changes);

  // Keeps the first `tokens` of the slot.
  Result<void> cut(sched::Slot slot, std::uint32_t tokens);

 private:
  Result<void> copy(sched::Slot from, sched::Slot to);
  Result<void> read(sched::Slot from);

  llama_context* context_;
  bool shared_;
  std::vector<std::uint8_t> copy_;  // Of what from_ holds.
  std::int64_t from_ = -1;          // Nothing is copied.
};

}  // namespace seedance::llama
