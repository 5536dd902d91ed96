#include "engine/codec.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/message.h"

namespace seedance::engine {
namespace {

enum class Kind : std::uint8_t {
  job = 1,
  cancel,
  loading,
  ready,
  step,
  job_failed,
  failed,
  alive,
  memory
};

void put_kind(MessageWriter& out, Kind kind) {
  out.put(static_cast<std::uint8_t>(kind));
}

void put_sampling(MessageWriter& out, const Sampling& sampling) {
  out.put(sampling.temperature);
  out.put(sampling.top_k);
  out.put(sampling.top_p);
  out.put(sampling.min_p);
  out.put(sampling.presence_penalty);
  out.put(sampling.frequency_penalty);
  out.put(sampling.repeat_penalty);
  out.put(sampling.repeat_last_n);
  out.put(sampling.seed);
  out.put(static_cast<std::uint32_t>(sampling.logit_bias.size()));
  for (const auto& [token, bias] : sampling.logit_bias) {
    out.put(token.value);
    out.put(bias);
  }
  out.put(static_cast<std::uint8_t>(sampling.logprobs));
  out.put(sampling.top_logprobs);
  out.put(static_cast<std::uint8_t>(sampling.ignore_eos));
  out.put(sampling.grammar);
}

Sampling get_sampling(FieldReader& in) {
  Sampling sampling;
  sampling.temperature = in.get_float();
  sampling.top_k = in.get<std::int32_t>();
  sampling.top_p = in.get_float();
  sampling.min_p = in.get_float();
  sampling.presence_penalty = in.get_float();
  sampling.frequency_penalty = in.get_float();
  sampling.repeat_penalty = in.get_float();
  sampling.repeat_last_n = in.get<std::int32_t>();
  sampling.seed = in.get<std::uint64_t>();
  sampling.logit_bias.resize(in.get_count(sizeof(std::int32_t) + sizeof(float)));
  for (auto& [token, bias] : sampling.logit_bias) {
    token.value = in.get<std::int32_t>();
    bias = in.get_float();
  }
  sampling.logprobs = in.get_flag();
  sampling.top_logprobs = in.get<std::uint32_t>();
  sampling.ignore_eos = in.get_flag();
  sampling.grammar = in.get_text();
  return sampling;
}

void put_logprobs(MessageWriter& out, const std::vector<stream::TokenLogprobs>& logprobs) {
  out.put(static_cast<std::uint32_t>(logprobs.size()));
  for (const stream::TokenLogprobs& one : logprobs) {
    out.put(one.chosen);
    out.put(static_cast<std::uint32_t>(one.top.size()));
    for (const stream::Candidate& candidate : one.top) {
      out.put(candidate.token.value);
      out.put(candidate.logprob);
    }
  }
}

std::vector<stream::TokenLogprobs> get_logprobs(FieldReader& in) {
  std::vector<stream::TokenLogprobs> logprobs(in.get_count(sizeof(float) + sizeof(std::uint32_t)));
  for (stream::TokenLogprobs& one : logprobs) {
    one.chosen = in.get_float();
    one.top.resize(in.get_count(sizeof(std::int32_t) + sizeof(float)));
    for (stream::Candidate& candidate : one.top) {
      candidate.token.value = in.get<std::int32_t>();
      candidate.logprob = in.get_float();
    }
  }
  return logprobs;
}

void put_token(MessageWriter& out, const StepToken& token) {
  out.put(token.job.value);
  out.put(token.gen.value);
  out.put(token.token.value);
  out.put(static_cast<std::uint8_t>(token.end));
  out.put(static_cast<std::int64_t>(token.prefill.count()));
  out.put(token.reused);
  put_logprobs(out, token.logprobs);
}

constexpr std::size_t kStepTokenBytes = 8 + 4 + 4 + 1 + 8 + 4 + 4;  // Without logprobs.

Step get_step(FieldReader& in) {
  Step step;
  step.tokens.resize(in.get_count(kStepTokenBytes));
  for (StepToken& token : step.tokens) {
    token.job.value = in.get<std::uint64_t>();
    token.gen.value = in.get<std::uint32_t>();
    token.token.value = in.get<std::int32_t>();
    token.end = static_cast<JobEnd>(in.get<std::uint8_t>());
    token.prefill = Duration{in.get<std::int64_t>()};
    token.reused = in.get<std::uint32_t>();
    token.logprobs = get_logprobs(in);
  }
  step.parked = in.get<std::uint32_t>();
  step.restored = in.get<std::uint32_t>();
  step.drafted = in.get<std::uint32_t>();
  step.accepted = in.get<std::uint32_t>();
  return step;
}

std::optional<Job> get_job(FieldReader& in) {
  Job job;
  job.id.value = in.get<std::uint64_t>();
  job.gen.value = in.get<std::uint32_t>();
  job.prompt = get_tokens(in);
  job.committed = get_tokens(in);
  job.scope = in.get<std::uint64_t>();
  job.adapter = in.get<std::uint32_t>();
  job.tokens_max = in.get<std::uint32_t>();
  job.sampling = get_sampling(in);
  job.keep = in.get<std::uint32_t>();
  job.dropped = in.get<std::uint32_t>();
  const auto priority = to_priority(in.get<std::uint8_t>());
  if (!priority) return std::nullopt;
  job.priority = *priority;
  return job;
}

void put_device_memory(MessageWriter& out, const DeviceMemory& memory) {
  out.put(memory.weights);
  out.put(memory.kv);
  out.put(memory.compute);
}

DeviceMemory get_device_memory(FieldReader& in) {
  DeviceMemory memory;
  memory.weights = in.get<std::uint64_t>();
  memory.kv = in.get<std::uint64_t>();
  memory.compute = in.get<std::uint64_t>();
  return memory;
}

Ready get_ready(FieldReader& in) {
  Ready ready;
  ready.context_tokens = in.get<std::uint32_t>();
  ready.sequences_max = in.get<std::uint32_t>();
  ready.vocabulary_size = in.get<std::uint32_t>();
  ready.timeline.resize(in.get_count(sizeof(std::uint32_t) + sizeof(double)));
  for (auto& [stage, ms] : ready.timeline) {
    stage = in.get_text();
    ms = in.get_double();
  }
  ready.memory.resize(in.get_count(sizeof(std::uint32_t) + (6 * sizeof(std::uint64_t))));
  for (DeviceReport& report : ready.memory) {
    report.device = in.get_text();
    report.predicted = get_device_memory(in);
    report.taken = get_device_memory(in);
  }
  ready.warnings.resize(in.get_count(sizeof(std::uint32_t)));
  for (std::string& warning : ready.warnings) warning = in.get_text();
  return ready;
}

Memory get_memory(FieldReader& in) {
  Memory memory;
  memory.cells_active = in.get<std::uint64_t>();
  memory.cells_pinned = in.get<std::uint64_t>();
  memory.cells_cached = in.get<std::uint64_t>();
  memory.cells_free = in.get<std::uint64_t>();
  memory.saved_bytes = in.get<std::uint64_t>();
  memory.tokens_asked = in.get<std::uint64_t>();
  memory.tokens_reused = in.get<std::uint64_t>();
  memory.evictions = in.get<std::uint64_t>();
  memory.resident_bytes = in.get<std::uint64_t>();
  memory.own_bytes = in.get<std::uint64_t>();
  return memory;
}

struct CommandWriter {
  MessageWriter& out;

  void operator()(const Job& job) const {
    put_kind(out, Kind::job);
    out.put(job.id.value);
    out.put(job.gen.value);
    put_tokens(out, job.prompt);
    put_tokens(out, job.committed);
    out.put(job.scope);
    out.put(job.adapter);
    out.put(job.tokens_max);
    put_sampling(out, job.sampling);
    out.put(job.keep);
    out.put(job.dropped);
    out.put(static_cast<std::uint8_t>(job.priority));
  }
  void operator()(const Cancel& cancel) const {
    put_kind(out, Kind::cancel);
    out.put(cancel.id.value);
    out.put(cancel.gen.value);
  }
};

struct EventWriter {
  MessageWriter& out;

  void operator()(const Loading& loading) const {
    put_kind(out, Kind::loading);
    out.put(loading.progress);
  }
  void operator()(const Ready& ready) const {
    put_kind(out, Kind::ready);
    out.put(ready.context_tokens);
    out.put(ready.sequences_max);
    out.put(ready.vocabulary_size);
    out.put(static_cast<std::uint32_t>(ready.timeline.size()));
    for (const auto& [stage, ms] : ready.timeline) {
      out.put(stage);
      out.put(ms);
    }
    out.put(static_cast<std::uint32_t>(ready.memory.size()));
    for (const DeviceReport& report : ready.memory) {
      out.put(report.device);
      put_device_memory(out, report.predicted);
      put_device_memory(out, report.taken);
    }
    out.put(static_cast<std::uint32_t>(ready.warnings.size()));
    for (const std::string& warning : ready.warnings) out.put(warning);
  }
  void operator()(const Step& step) const {
    put_kind(out, Kind::step);
    out.put(static_cast<std::uint32_t>(step.tokens.size()));
    for (const StepToken& token : step.tokens) put_token(out, token);
    out.put(step.parked);
    out.put(step.restored);
    out.put(step.drafted);
    out.put(step.accepted);
  }
  void operator()(const JobFailed& failed) const {
    put_kind(out, Kind::job_failed);
    out.put(failed.job.value);
    out.put(failed.gen.value);
    put_problem(out, failed.problem);
  }
  void operator()(const Failed& failed) const {
    put_kind(out, Kind::failed);
    out.put(failed.message);
    out.put(static_cast<std::uint8_t>(failed.cause));
  }
  void operator()(Alive) const { put_kind(out, Kind::alive); }
  void operator()(const Memory& memory) const {
    put_kind(out, Kind::memory);
    out.put(memory.cells_active);
    out.put(memory.cells_pinned);
    out.put(memory.cells_cached);
    out.put(memory.cells_free);
    out.put(memory.saved_bytes);
    out.put(memory.tokens_asked);
    out.put(memory.tokens_reused);
    out.put(memory.evictions);
    out.put(memory.resident_bytes);
    out.put(memory.own_bytes);
  }
};

std::unexpected<Error> not_ours() {
  return fail(Errc::corrupt, "not a message that an engine or its owner writes");
}

bool valid(const Event& event) {
  if (const auto* failed = std::get_if<Failed>(&event)) return failed->cause <= EndCause::hung;
  const auto* step = std::get_if<Step>(&event);
  if (step == nullptr) return true;
  return std::ranges::all_of(step->tokens,
                             [](const StepToken& token) { return token.end <= JobEnd::context; });
}

std::optional<Event> get_event(FieldReader& in) {
  switch (static_cast<Kind>(in.get<std::uint8_t>())) {
    case Kind::loading:
      return Loading{in.get_float()};
    case Kind::ready:
      return get_ready(in);
    case Kind::step:
      return get_step(in);
    case Kind::job_failed: {
      JobFailed failed;
      failed.job.value = in.get<std::uint64_t>();
      failed.gen.value = in.get<std::uint32_t>();
      auto problem = get_problem(in);
      if (!problem) return std::nullopt;
      failed.problem = *std::move(problem);
      return failed;
    }
    case Kind::failed: {
      Failed failed{std::string{in.get_text()}};
      failed.cause = static_cast<EndCause>(in.get<std::uint8_t>());
      return failed;
    }
    case Kind::alive:
      return Alive{};
    case Kind::memory:
      return get_memory(in);
    case Kind::job:
    case Kind::cancel:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void encode(const Command& command, std::string& out) {
  MessageWriter writer{out};
  std::visit(CommandWriter{writer}, command);
}

void encode(const Event& event, std::string& out) {
  MessageWriter writer{out};
  std::visit(EventWriter{writer}, event);
}

Result<Command> decode_command(Bytes body) {
  FieldReader in{body};
  std::optional<Command> command;
  switch (static_cast<Kind>(in.get<std::uint8_t>())) {
    case Kind::job:
      if (auto job = get_job(in)) command = *std::move(job);
      break;
    case Kind::cancel: {
      Cancel cancel;
      cancel.id.value = in.get<std::uint64_t>();
      cancel.gen.value = in.get<std::uint32_t>();
      command = cancel;
      break;
    }
    default:
      break;
  }
  if (!command || !in.at_end()) return not_ours();
  return *std::move(command);
}

Result<Event> decode_event(Bytes body) {
  FieldReader in{body};
  std::optional<Event> event = get_event(in);
  if (!event || !in.at_end() || !valid(*event)) return not_ours();
  return *std::move(event);
}

}  // namespace seedance::engine
