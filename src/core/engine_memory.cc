// The part of Core that knows what engines say of their memory.
#include "core/state.h"

namespace seedance::core {

void Core::on_memory(Model& model, const engine::Memory& memory) {
  model.memory = memory;
  engine::Memory all;
  for (const auto& each : models_) {
    all.cells_active += each->memory.cells_active;
    all.cells_pinned += each->memory.cells_pinned;
    all.cells_cached += each->memory.cells_cached;
    all.cells_free += each->memory.cells_free;
  }
  stats_.kv_cells_active.set(static_cast<std::int64_t>(all.cells_active));
  stats_.kv_cells_pinned.set(static_cast<std::int64_t>(all.cells_pinned));
  stats_.kv_cells_cached.set(static_cast<std::int64_t>(all.cells_cached));
  stats_.kv_cells_free.set(static_cast<std::int64_t>(all.cells_free));
  stats_.kv_tokens_asked.add(memory.tokens_asked);
  stats_.kv_tokens_reused.add(memory.tokens_reused);
  stats_.kv_evictions.add(memory.evictions);
}

}  // namespace seedance::core
