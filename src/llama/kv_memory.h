// What a model has in memory of its sequences.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "llama/system_memory.h"
#include "sched/kv_slots.h"
#include "sched/park_memory.h"

namespace seedance::llama {

// Cuts, copies, saves and restores as the planner wants it. Belongs to the thread of the context.
class KvMemory {
 public:
  // `shared`: all sequences share their room (kv_unified). `sequence`: what one takes at most in
  // the host's memory. `context` outlives this.
  KvMemory(llama_context* context, bool shared, sched::SequenceBytes sequence = {},
           std::function<std::uint64_t()> available = available_memory)
      : context_(context), shared_(shared), sequence_(sequence), available_(std::move(available)) {}

  // Whether a sequence can be cut behind any of its tokens: not where the model keeps a
  // state instead of each token, or only the last tokens.
  static bool can_cut(const llama_model* model);

  // In order; gives those that were from or to the host's memory. An error is final: what the
  // slots hold is unknown then.
  Result<std::vector<sched::KvMove>> carry_out(std::span<const sched::KvChange> changes);

  // Keeps the first `tokens` of the slot.
  Result<void> cut(sched::Slot slot, std::uint32_t tokens);

 private:
  struct Saved {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t size = 0;
  };

  bool in_host(sched::Slot slot) const { return slot.value >= llama_n_seq_max(context_); }
  sched::KvMove move(const sched::KvChange& change);
  bool save(const sched::KvChange& change);
  bool restore(const sched::KvChange& change);
  Result<void> copy(sched::Slot from, sched::Slot to);
  Result<void> read(sched::Slot from);

  llama_context* context_;
  bool shared_;
  sched::SequenceBytes sequence_;
  std::function<std::uint64_t()> available_;
  std::map<sched::Slot, Saved> saved_;
  std::vector<std::uint8_t> copy_;  // Of what from_ holds.
  std::int64_t from_ = -1;          // Nothing is copied.
};

}  // namespace seedance::llama
