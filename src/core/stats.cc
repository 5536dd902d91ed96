#include "core/stats.h"

#include <algorithm>
#include <array>

namespace seedance::core {

using observe::append_counter;
using observe::append_family;
using observe::append_gauge;
using observe::append_histogram;
using observe::append_histogram_samples;
using observe::append_sample;

namespace {

void append_tokens(std::string& out, const Stats& stats) {
  append_counter(out, "seedance_prompt_tokens_total", "Prompt tokens of accepted requests.",
                 stats.tokens_prompt.value());
  append_counter(out, "seedance_prompt_tokens_cached_total",
                 "Of these, those that the engine had computed before.",
                 stats.tokens_cached.value());
  append_counter(out, "seedance_generated_tokens_total", "Tokens committed to logs.",
                 stats.tokens_generated.value());
  append_counter(out, "seedance_tokens_drafted_total",
                 "Tokens that were guessed from their stream and computed ahead.",
                 stats.tokens_drafted.value());
  append_counter(out, "seedance_tokens_draft_accepted_total",
                 "Of these, those that the model then chose.", stats.drafts_accepted.value());
}

void append_bytes(std::string& out, std::string_view name, std::string_view where,
                  const Stats::EngineMemory& memory) {
  const auto sample = [&](std::string_view what, const observe::Gauge& bytes) {
    const std::array labels{observe::Label{"where", where}, observe::Label{"for", what}};
    append_sample(out, name, labels, static_cast<double>(bytes.value()));
  };
  sample("weights", memory.weights);
  sample("kv", memory.kv);
  sample("compute", memory.compute);
}

void append_engine_bytes(std::string& out, const Stats& stats) {
  append_family(out, "seedance_engine_memory_bytes",
                "What the engine takes for weights, tokens and a step.", "gauge");
  append_bytes(out, "seedance_engine_memory_bytes", "machine", stats.machine_memory.taken);
  append_bytes(out, "seedance_engine_memory_bytes", "devices", stats.device_memory.taken);
  append_family(out, "seedance_engine_memory_predicted_bytes",
                "The same, as predicted before it was loaded.", "gauge");
  append_bytes(out, "seedance_engine_memory_predicted_bytes", "machine",
               stats.machine_memory.predicted);
  append_bytes(out, "seedance_engine_memory_predicted_bytes", "devices",
               stats.device_memory.predicted);
  append_gauge(out, "seedance_engine_resident_bytes",
               "Memory of the machine that the engine's process has.",
               static_cast<double>(stats.engine_resident_bytes.value()));
  append_gauge(out, "seedance_engine_own_bytes",
               "Of this, what is neither weights nor kept of tokens.",
               static_cast<double>(stats.engine_own_bytes.value()));
}

void append_memory(std::string& out, const Stats& stats) {
  const auto active = static_cast<double>(stats.kv_cells_active.value());
  const auto pinned = static_cast<double>(stats.kv_cells_pinned.value());
  const auto cached = static_cast<double>(stats.kv_cells_cached.value());
  const auto free = static_cast<double>(stats.kv_cells_free.value());
  append_family(out, "seedance_kv_cells",
                "Room for tokens in the engine's memory: of sequences that run, of prefixes that "
                "several shared, kept besides, free.",
                "gauge");
  const auto cells = [&](std::string_view state, double count) {
    const observe::Label label{"state", state};
    append_sample(out, "seedance_kv_cells", {&label, 1}, count);
  };
  cells("active", active);
  cells("pinned", pinned);
  cells("cached", cached);
  cells("free", free);
  append_gauge(out, "seedance_kv_utilisation", "Part of the room that sequences that run have.",
               active / std::max(1.0, active + pinned + cached + free));
  append_gauge(out, "seedance_park_memory_bytes",
               "Of the machine's memory, what sequences that wait have saved there.",
               static_cast<double>(stats.park_memory_bytes.value()));
  append_engine_bytes(out, stats);
  append_counter(out, "seedance_kv_prefix_tokens_total",
                 "Tokens of sequences that came to be computed.", stats.kv_tokens_asked.value());
  append_counter(out, "seedance_kv_prefix_reused_total",
                 "Of these, those that lay in memory and were not computed again.",
                 stats.kv_tokens_reused.value());
  append_counter(out, "seedance_kv_evictions_total",
                 "Times that something kept had to give way to something new.",
                 stats.kv_evictions.value());
}

void append_latencies(std::string& out, const Stats& stats) {
  append_family(out, "seedance_queue_seconds", "Accepted until prefill began, by priority.",
                "histogram");
  for (const Priority priority : kPriorities) {
    append_histogram_samples(out, "seedance_queue_seconds", {"priority", name(priority)},
                             stats.queue_seconds.at(rank(priority)));
  }
  append_histogram(out, "seedance_prefill_seconds", "Prefill until the first token was sampled.",
                   stats.prefill_seconds);
  append_histogram(out, "seedance_ttft_seconds", "Accepted until the first token was committed.",
                   stats.ttft_seconds);
  append_histogram(out, "seedance_inter_token_seconds", "Between committed tokens of one stream.",
                   stats.inter_token_seconds);
  append_histogram(out, "seedance_stream_seconds", "Accepted until the end.", stats.total_seconds);
}

}  // namespace

void append_text(std::string& out, const Stats& stats) {
  append_counter(out, "seedance_streams_accepted_total", "Requests that became streams.",
                 stats.streams_accepted.value());
  append_family(out, "seedance_streams_ended_total", "Streams that ended, by finish reason.",
                "counter");
  for (std::size_t i = 0; i < kFinishReasonCount; ++i) {
    const observe::Label label{"reason", name(static_cast<stream::FinishReason>(i))};
    append_sample(out, "seedance_streams_ended_total", {&label, 1},
                  static_cast<double>(stats.streams_ended.at(i).value()));
  }
  append_family(out, "seedance_requests_refused_total",
                "Requests that did not become streams, by error code.", "counter");
  for (std::size_t i = 0; i < kErrorCodeCount; ++i) {
    if (stats.refused.at(i).value() == 0) continue;
    const observe::Label label{"code", name(static_cast<ErrorCode>(i))};
    append_sample(out, "seedance_requests_refused_total", {&label, 1},
                  static_cast<double>(stats.refused.at(i).value()));
  }
  append_counter(out, "seedance_tenant_streams_refused_total",
                 "Requests beyond max_streams_per_tenant.", stats.tenant_refused.value());
  append_tokens(out, stats);
  append_counter(out, "seedance_engine_restarts_total",
                 "Engines that became ready again after a death.", stats.engine_restarts.value());
  append_family(out, "seedance_engine_ends_total", "Engines that ended, by cause.", "counter");
  for (std::size_t i = 0; i < engine::kEndCauseCount; ++i) {
    const observe::Label label{"cause", name(static_cast<engine::EndCause>(i))};
    append_sample(out, "seedance_engine_ends_total", {&label, 1},
                  static_cast<double>(stats.engine_ends.at(i).value()));
  }
  append_gauge(out, "seedance_engine_fallback",
               "Which of the fallbacks the engine has; 0 = none, it has its own settings.",
               static_cast<double>(stats.fallback.value()));
  append_counter(out, "seedance_stream_redrives_total",
                 "Streams that an engine took over after the death of another.",
                 stats.redrives.value());
  append_counter(out, "seedance_context_shifts_total",
                 "Contexts that were full, of streams that went on without the oldest part.",
                 stats.shifts.value());
  append_counter(out, "seedance_streams_recovered_total",
                 "Streams that were in the journal when the server started.",
                 stats.streams_recovered.value());
  append_gauge(out, "seedance_streams_kept", "Streams that ended and can still be read.",
               static_cast<double>(stats.streams_kept.value()));
  append_gauge(out, "seedance_streams_preparing", "Requests at a vocabulary process.",
               static_cast<double>(stats.streams_preparing.value()));
  append_gauge(out, "seedance_prepare_bytes", "What requests at a vocabulary process take.",
               static_cast<double>(stats.prepare_bytes.value()));
  append_gauge(out, "seedance_grammar_bytes",
               "What the grammars of streams that have not ended take.",
               static_cast<double>(stats.grammar_bytes.value()));
  append_gauge(out, "seedance_streams_queued", "Streams that wait for an engine.",
               static_cast<double>(stats.streams_queued.value()));
  append_family(out, "seedance_queue_depth", "Of these, those of each priority.", "gauge");
  for (const Priority priority : kPriorities) {
    const observe::Label label{"priority", name(priority)};
    append_sample(out, "seedance_queue_depth", {&label, 1},
                  static_cast<double>(stats.queue_depth.at(rank(priority)).value()));
  }
  append_gauge(out, "seedance_streams_running", "Streams in an engine.",
               static_cast<double>(stats.streams_running.value()));
  append_counter(
      out, "seedance_sequences_parked_total",
      "Sequences that gave up their place for a while, to a higher priority or for want of "
      "room.",
      stats.sequences_parked.value());
  append_counter(out, "seedance_sequences_restored_total",
                 "Sequences that had to wait and went on with what was saved of them.",
                 stats.sequences_restored.value());
  append_memory(out, stats);
  append_latencies(out, stats);
}

}  // namespace seedance::core
