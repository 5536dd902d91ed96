// What the core counts.
#pragma once

#include <array>
#include <string>

#include "base/error_code.h"
#include "base/priority.h"
#include "engine/end_cause.h"
#include "observe/metric.h"
#include "stream/record.h"

namespace seedance::core {

inline constexpr std::size_t kFinishReasonCount = 6;

// Written by the core's thread, readable from any.
struct Stats {
  observe::Counter streams_accepted;
  std::array<observe::Counter, kFinishReasonCount> streams_ended;  // By FinishReason.
  std::array<observe::Counter, kErrorCodeCount> refused;           // By ErrorCode.
  observe::Counter tokens_prompt;
  observe::Counter tokens_cached;  // Of these: computed before.
  observe::Counter tokens_generated;
  observe::Counter tokens_drafted;   // Guessed and computed ahead.
  observe::Counter drafts_accepted;  // Of these, those that the model then chose.
  observe::Counter engine_restarts;
  std::array<observe::Counter, engine::kEndCauseCount> engine_ends;  // By EndCause.
  observe::Gauge fallback;              // The rung of the engine that ended last.
  observe::Counter redrives;            // Streams given to an engine again after a death.
  observe::Counter shifts;              // The same, because their context was full.
  observe::Counter streams_recovered;   // Found in the journal when the server started.
  observe::Counter tenant_refused;      // Over a tenant's number of streams.
  observe::Counter sequences_parked;    // That gave up their place for a while.
  observe::Counter sequences_restored;  // That went on with what was saved of them.
  observe::Gauge park_memory_bytes;     // Of all engines' memory.
  observe::Gauge kv_cells_active;       // Of all engines' memory: engine::Memory.
  observe::Gauge kv_cells_pinned;
  observe::Gauge kv_cells_cached;
  observe::Gauge kv_cells_free;
  observe::Counter kv_tokens_asked;
  observe::Counter kv_tokens_reused;
  observe::Counter kv_evictions;
  struct EngineMemory {  // engine::DeviceMemory of all engines.
    observe::Gauge weights;
    observe::Gauge kv;
    observe::Gauge compute;
  };
  struct EngineMemories {
    EngineMemory predicted;
    EngineMemory taken;
  };
  EngineMemories machine_memory;  // The machine's.
  EngineMemories device_memory;   // Of its devices, all together.
  observe::Gauge engine_resident_bytes;
  observe::Gauge engine_own_bytes;
  observe::Gauge prepare_bytes;
  observe::Gauge grammar_bytes;  // Of streams that were accepted and not ended.
  observe::Gauge streams_preparing;
  observe::Gauge streams_queued;
  std::array<observe::Gauge, kPriorityCount> queue_depth;  // Of these, by Priority.
  observe::Gauge streams_running;
  observe::Gauge streams_kept;
  std::array<observe::Histogram, kPriorityCount> queue_seconds;  // By Priority.
  observe::Histogram prefill_seconds;
  observe::Histogram ttft_seconds;
  observe::Histogram inter_token_seconds;
  observe::Histogram total_seconds;
};

// Prometheus text of all of them, as seedance_*.
void append_text(std::string& out, const Stats& stats);

}  // namespace seedance::core
