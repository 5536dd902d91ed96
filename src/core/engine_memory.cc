// The part of Core that knows what engines say of their memory.
#include "core/state.h"

namespace seedance::core {
namespace {

void add(engine::DeviceMemory& sum, const engine::DeviceMemory& memory) {
  sum.weights += memory.weights;
  sum.kv += memory.kv;
  sum.compute += memory.compute;
}

void add(engine::DeviceReport& sum, const engine::DeviceReport& report) {
  add(sum.predicted, report.predicted);
  add(sum.taken, report.taken);
}

void show(Stats::EngineMemory& shown, const engine::DeviceMemory& memory) {
  shown.weights.set(static_cast<std::int64_t>(memory.weights));
  shown.kv.set(static_cast<std::int64_t>(memory.kv));
  shown.compute.set(static_cast<std::int64_t>(memory.compute));
}

void show(Stats::EngineMemories& shown, const engine::DeviceReport& report) {
  show(shown.predicted, report.predicted);
  show(shown.taken, report.taken);
}

}  // namespace

// Of all engines that are up.
void Core::sum_memory() {
  engine::DeviceReport machine;
  engine::DeviceReport devices;
  for (const auto& model : models_) {
    if (!model->engine_up) continue;
    const auto& reports = model->capacity->memory;
    for (const engine::DeviceReport& report : reports) {
      add(&report == &reports.back() ? machine : devices, report);
    }
  }
  show(stats_.machine_memory, machine);
  show(stats_.device_memory, devices);
}

void Core::on_memory(Model& model, const engine::Memory& memory) {
  model.memory = memory;
  engine::Memory all;
  for (const auto& each : models_) {
    all.cells_active += each->memory.cells_active;
    all.cells_pinned += each->memory.cells_pinned;
    all.cells_cached += each->memory.cells_cached;
    all.cells_free += each->memory.cells_free;
    all.saved_bytes += each->memory.saved_bytes;
    all.resident_bytes += each->memory.resident_bytes;
    all.own_bytes += each->memory.own_bytes;
  }
  stats_.kv_cells_active.set(static_cast<std::int64_t>(all.cells_active));
  stats_.kv_cells_pinned.set(static_cast<std::int64_t>(all.cells_pinned));
  stats_.kv_cells_cached.set(static_cast<std::int64_t>(all.cells_cached));
  stats_.kv_cells_free.set(static_cast<std::int64_t>(all.cells_free));
  stats_.park_memory_bytes.set(static_cast<std::int64_t>(all.saved_bytes));
  stats_.engine_resident_bytes.set(static_cast<std::int64_t>(all.resident_bytes));
  stats_.engine_own_bytes.set(static_cast<std::int64_t>(all.own_bytes));
  stats_.kv_tokens_asked.add(memory.tokens_asked);
  stats_.kv_tokens_reused.add(memory.tokens_reused);
  stats_.kv_evictions.add(memory.evictions);
}

}  // namespace seedance::core
