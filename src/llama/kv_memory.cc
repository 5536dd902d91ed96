#include "llama/kv_memory.h"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <utility>

namespace seedance::llama {
namespace {

// A larger copy is not kept for the next time.
constexpr std::size_t kCopyBytesKept = std::size_t{16} << 20;

// Of what memory is available, at least so much is left to others.
constexpr std::uint64_t kLeft = std::uint64_t{64} << 20;

llama_seq_id id_of(sched::Slot slot) {
  return static_cast<llama_seq_id>(slot.value);
}

}  // namespace

bool KvMemory::can_cut(const llama_model* model) {
  return !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model) &&
         llama_model_n_swa(model) == 0;
}

Result<std::vector<sched::KvMove>> KvMemory::carry_out(std::span<const sched::KvChange> changes) {
  std::vector<sched::KvMove> moves;
  for (const sched::KvChange& change : changes) {
    const auto& [slot, from, tokens] = change;
    if (in_host(slot) && slot == from) {
      saved_.erase(slot);
      continue;
    }
    if (in_host(slot) || in_host(from)) {
      from_ = -1;
      moves.push_back(move(change));
      continue;
    }
    if (slot != from && tokens > 0) {
      if (const auto copied = copy(from, slot); !copied) return std::unexpected(copied.error());
    }
    if (const auto done = cut(slot, tokens); !done) return std::unexpected(done.error());
  }
  from_ = -1;
  if (copy_.capacity() > kCopyBytesKept) copy_ = {};
  return moves;
}

sched::KvMove KvMemory::move(const sched::KvChange& change) {
  const auto begun = std::chrono::steady_clock::now();
  const bool done = in_host(change.slot) ? save(change) : restore(change);
  llama_synchronize(context_);  // A device goes on behind the call.
  return {.change = change, .took = std::chrono::steady_clock::now() - begun, .done = done};
}

// The kernel promises more than it has, so what there is is looked at first.
bool KvMemory::save(const sched::KvChange& change) {
  const std::uint64_t most = sequence_.of(change.tokens);
  if (available_() < most + kLeft) return false;
  Saved saved{.bytes{new (std::nothrow) std::uint8_t[most]}};
  if (!saved.bytes) return false;
  saved.size = llama_state_seq_get_data(context_, saved.bytes.get(), most, id_of(change.from));
  if (saved.size == 0) return false;
  saved_.insert_or_assign(change.slot, std::move(saved));
  return true;
}

// What could not be restored is kept: there may be room for it later.
bool KvMemory::restore(const sched::KvChange& change) {
  const auto found = saved_.find(change.from);
  if (found == saved_.end()) return false;
  const Saved& saved = found->second;
  const std::size_t bytes =
      llama_state_seq_set_data(context_, saved.bytes.get(), saved.size, id_of(change.slot));
  if (bytes != saved.size) {
    llama_memory_seq_rm(llama_get_memory(context_), id_of(change.slot), -1, -1);
    return false;
  }
  saved_.erase(found);
  return true;
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
