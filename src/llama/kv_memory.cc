#include "llama/kv_memory.h"

#include <fmt/format.h>

namespace seedance::llama {
namespace {

// A larger copy is not kept for the next time.
constexpr std::size_t kCopyBytesKept = std::size_t{16} << 20;

llama_seq_id id_of(sched::Slot slot) {
  return static_cast<llama_seq_id>(slot.value);
}

}  // namespace

bool KvMemory::can_cut(const llama_model* model) {
  return !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model) &&
         llama_model_n_swa(model) == 0;
}

Result<void> KvMemory::carry_out(std::span<const sched::KvChange> changes) {
  for (const auto& [slot, from, tokens] : changes) {
    if (slot != from && tokens > 0) {
      if (const auto copied = copy(from, slot); !copied) return copied;
    }
    if (const auto cut_off = cut(slot, tokens); !cut_off) return cut_off;
  }
  from_ = -1;
  if (copy_.capacity() > kCopyBytesKept) copy_ = {};
  return {};
}

Result<void> KvMemory::cut(sched::Slot slot, std::uint32_t tokens) {
  if (llama_memory_seq_rm(llama_get_memory(context_), id_of(slot), static_cast<llama_pos>(tokens),
                          -1)) {
    return {};
  }
  return fail(Errc::invalid,
              fmt::format("a sequence cannot be cut behind {} of its tokens", tokens));
}

// Sequences that share their room share cells; others have each its own.
Result<void> KvMemory::copy(sched::Slot from, sched::Slot to) {
  llama_memory_t memory = llama_get_memory(context_);
  llama_memory_seq_rm(memory, id_of(to), -1, -1);
  if (shared_) {
    llama_memory_seq_cp(memory, id_of(from), id_of(to), -1, -1);
    return {};
  }
  if (const auto done = read(from); !done) return done;
  const std::size_t bytes =
      llama_state_seq_set_data(context_, copy_.data(), copy_.size(), id_of(to));
  if (bytes == copy_.size()) return {};
  return fail(Errc::invalid,
              fmt::format("the {} bytes of a sequence cannot be copied to another", copy_.size()));
}

// Many may want the same one, after each other. In between nothing is computed, so that at most
// it was cut, and whoever gets it is cut behind that, too.
Result<void> KvMemory::read(sched::Slot from) {
  if (from_ == from.value) return {};
  copy_.resize(llama_state_seq_get_size(context_, id_of(from)));
  const std::size_t bytes =
      llama_state_seq_get_data(context_, copy_.data(), copy_.size(), id_of(from));
  if (bytes != copy_.size()) {
    return fail(Errc::invalid, fmt::format("only {} of the {} bytes of a sequence can be read",
                                           bytes, copy_.size()));
  }
  from_ = from.value;
  return {};
}

}  // namespace seedance::llama
