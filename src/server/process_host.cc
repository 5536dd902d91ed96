#include "server/process_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/codec.h"
#include "text/codec.h"

namespace seedance::server {
namespace {

io::Token token_after(io::Token first, std::uint64_t count) {
  return {first.value + count};
}

std::vector<std::string> common_argv(const std::string& program, const char* command,
                                     const LlamaModel& options) {
  return {program, command, "--fd", std::to_string(io::kChildSocketFd), "--model", options.path};
}

}  // namespace

std::string end_of_worker(const Child::End& end, const std::optional<engine::Failed>& said) {
  using engine::EndCause;
  if (said) {
    return said->cause == EndCause::out_of_memory
               ? said->message +
                     " (out of memory: see max_concurrent_streams, ctx_size, gpu_layers)"
               : said->message;
  }
  if (end.cause == EndCause::killed) {
    return "the worker " + end.text +
           ", by hand or by the kernel for want of memory: dmesg would say so";
  }
  if (end.cause == EndCause::aborted) {
    return "the worker " + end.text + ", by llama.cpp or a backend: what it wrote stands above";
  }
  return "the worker " + end.text;
}

LlamaModel with(LlamaModel options, const LlamaFallback& fallback) {
  options.gpu_layers = fallback.gpu_layers.value_or(options.gpu_layers);
  options.batch_tokens_max = fallback.batch_tokens_max.value_or(options.batch_tokens_max);
  options.sequences_max = fallback.sequences_max.value_or(options.sequences_max);
  return options;
}

std::string to_text(const LlamaFallback& fallback) {
  std::string out;
  const auto add = [&out](std::string_view key, const auto& value) {
    if (value) out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, *value);
  };
  add("gpu_layers", fallback.gpu_layers);
  add("batch_tokens", fallback.batch_tokens_max);
  add("max_concurrent_streams", fallback.sequences_max);
  return out;
}

std::vector<std::string> worker_argv(const std::string& program, const LlamaModel& options) {
  std::vector<std::string> argv = common_argv(program, "worker", options);
  const auto add = [&argv](const char* flag, auto value) {
    if (value != 0) argv.insert(argv.end(), {flag, std::to_string(value)});
  };
  add("--ctx-size", options.context_tokens);
  add("--parallel", options.sequences_max);
  add("--threads", options.threads);
  add("--gpu-layers", options.gpu_layers);
  add("--batch-tokens", options.batch_tokens_max);
  add("--step-target-ms", options.step_target_ms);
  add("--speculate-tokens", options.draft_tokens_max);
  if (!options.draft_model.empty()) {
    argv.insert(argv.end(), {"--draft-model", options.draft_model});
    if (!options.draft_ngrams) argv.emplace_back("--no-ngrams");
  }
  add("--step-max-ms", options.step_max_ms);
  if (const auto pause = options.prefill_pause_ms) {
    argv.insert(argv.end(), {"--prefill-pause-ms", std::to_string(*pause)});
  }
  add("--kv-tokens", options.kv_tokens);
  add("--grammar-memory", options.grammar_bytes_max);
  if (!options.kv_type.empty()) argv.insert(argv.end(), {"--kv-type", options.kv_type});
  add("--park-memory", options.park_memory_mb);
  if (options.reuse_min) {
    argv.insert(argv.end(), {"--prefix-reuse-min", std::to_string(*options.reuse_min)});
  }
  for (const Adapter& adapter : options.adapters) {
    argv.insert(argv.end(), {"--adapter", adapter.path});
  }
  return argv;
}

std::vector<std::string> vocabulary_argv(const std::string& program, const LlamaModel& options) {
  std::vector<std::string> argv = common_argv(program, "vocabulary", options);
  if (options.schema_ms > 0) {
    argv.insert(argv.end(), {"--schema-ms", std::to_string(options.schema_ms)});
  }
  return argv;
}

// libgomp's compute threads spin after each step and keep a core from the rest of
// the server; so briefly costs no token (docs/performance.md).
std::vector<std::string> worker_environment() {
  return {"GOMP_SPINCOUNT=1000"};
}

ProcessHost::ProcessHost(core::ModelIndex model, const std::string& program,
                         const LlamaModel& options, io::Poller& poller, io::Token first)
    : Host(model),
      program_(program),
      options_(options),
      first_(first),
      worker_(worker_argv(program, options), worker_environment(), poller, first,
              token_after(first, 1)),
      vocabulary_(vocabulary_argv(program, options), {}, poller, token_after(first, 2),
                  token_after(first, 3)),
      worker_watchdog_({.load = options.load_timeout, .step = options.step_timeout}),
      vocabulary_watchdog_({.load = options.load_timeout, .step = options.prepare_timeout}),
      fallback_(options.fallbacks.size(), core::kDeathsMax) {}

Result<void> ProcessHost::start(TimePoint now) {
  if (auto started = vocabulary_.start(now); !started) return started;
  vocabulary_watchdog_.on_started(now);
  worker_watchdog_.on_started(now);
  return worker_.start(now);
}

void ProcessHost::on_ready(const io::Ready& ready, TimePoint now) {
  if (ready.token < token_after(first_, 2)) {
    worker_.on_ready(ready, now);
    take_events(now);
  } else {
    vocabulary_.on_ready(ready, now);
    take_vocabulary_events(now);
  }
}

void ProcessHost::take_events(TimePoint now) {
  while (const auto message = worker_.next()) {
    auto event = engine::decode_event(*message);
    if (!event) {
      worker_.kill("sent a message that cannot be read");
      break;
    }
    worker_watchdog_.on_heard(now);
    on_event(*std::move(event), now);
  }
  worker_watchdog_.on_owed(jobs_.size(), now);
  if (const auto end = worker_.end()) on_end(*end, now);
}

void ProcessHost::on_event(engine::Event event, TimePoint now) {
  if (auto* failed = std::get_if<engine::Failed>(&event)) {
    worker_failure_ = std::move(*failed);
    return worker_.kill({});
  }
  if (std::holds_alternative<engine::Alive>(event)) return;
  jobs_.on_event(event);
  if (const auto* ready = std::get_if<engine::Ready>(&event)) {
    keep_context(ready->context_tokens);
    worker_watchdog_.on_ready();
    fallback_.on_ready();
    walks_.on_started(now);
  } else if (std::holds_alternative<engine::Step>(event)) {
    worker_.on_work();
    fallback_.on_work();
  }
  tell_engine(std::move(event));
}

// Where the first worker chose it, so that whatever was let in fits later ones too. How many
// streams they run at a time is theirs to say, as there is memory then.
void ProcessHost::keep_context(std::uint32_t tokens) {
  if (options_.context_tokens > 0) return;
  options_.context_tokens = tokens;
  worker_.call_next(next_worker());
}

std::vector<std::string> ProcessHost::next_worker() const {
  const std::size_t rung = fallback_.rung();
  return worker_argv(program_,
                     rung == 0 ? options_ : with(options_, options_.fallbacks.at(rung - 1)));
}

void ProcessHost::on_end(const Child::End& end, TimePoint now) {
  using Move = engine::Fallback::Move;
  const auto said = std::exchange(worker_failure_, std::nullopt);
  jobs_.clear();
  worker_watchdog_.on_ended();
  core::EngineDown down{.model = model_, .cause = said ? said->cause : end.cause};
  const Move move = fallback_.on_end(down.cause);
  down.other_settings = move == Move::down;
  down.rung = fallback_.rung();
  const bool final = said || move == Move::spent;
  tell_engine_down(end_of_worker(end, said), final ? End::told : End::died, down);
  if (move == Move::down) {
    const LlamaFallback& fallback = options_.fallbacks.at(down.rung - 1);
    worker_.replace(next_worker(), now);
    notices_.push_back(fmt::format("fallback {} of {}, until the server is started again: {}",
                                   down.rung, fallback_.rungs(), to_text(fallback)));
  } else if (move == Move::back) {
    worker_.replace(next_worker(), now);
    notices_.emplace_back("no fallback helped: it has its own settings again");
  } else if (move == Move::spent) {
    worker_.replace(next_worker(), walks_.on_failure(now));
    notices_.emplace_back("no fallback can be loaded: it begins with its own settings again");
  }
}

void ProcessHost::take_vocabulary_events(TimePoint now) {
  while (const auto message = vocabulary_.next()) {
    auto event = text::decode_vocabulary_event(*message);
    if (!event) {
      vocabulary_.kill("sent a message that cannot be read");
      break;
    }
    vocabulary_watchdog_.on_heard(now);
    if (auto* failed = std::get_if<text::VocabularyFailed>(&*event)) {
      vocabulary_failure_ = std::move(failed->message);
      vocabulary_.kill({});
      continue;
    }
    if (std::holds_alternative<text::PrepareReply>(*event)) {
      vocabulary_.on_work();
      const std::size_t owed = vocabulary_watchdog_.owed();
      vocabulary_watchdog_.on_owed(owed - std::min<std::size_t>(owed, 1), now);
    } else {
      vocabulary_watchdog_.on_ready();
      vocabulary_ready_ = true;
    }
    messages_.emplace_back(core::VocabularyEvent{model_, std::move(*event)});
  }
  if (const auto end = vocabulary_.end()) {
    vocabulary_watchdog_.on_ended();
    std::string said = std::exchange(vocabulary_failure_, {});
    const End how = said.empty() ? End::died : End::told;
    if (said.empty()) said = "the vocabulary process " + end->text;
    if (!vocabulary_ready_) note_failed_start(said, how, vocabulary_start_deaths_);
    note_restart(said);
    messages_.emplace_back(core::VocabularyDown{model_});
  }
}

void ProcessHost::on_time(TimePoint now) {
  tend(worker_, worker_watchdog_, "step_timeout_ms", now);
  take_events(now);
  tend(vocabulary_, vocabulary_watchdog_, "prepare_timeout_ms", now);
  take_vocabulary_events(now);
}

// Starts it again when it is time, and kills it when it is stuck at its work for so long as
// the key `limit` says.
void ProcessHost::tend(Child& child, engine::Watchdog& watchdog, std::string_view limit,
                       TimePoint now) {
  const bool ran = child.running();
  child.on_time(now);
  if (!ran && child.running()) watchdog.on_started(now);
  if (now < watchdog.deadline()) return;
  const std::string work = watchdog.loading()
                               ? "while it loaded"
                               : fmt::format("with work to do (requests: {})", watchdog.owed());
  child.kill(fmt::format("said nothing for {:.1f} s {}, and was killed ({})",
                         to_ms(watchdog.limit()) / 1000, work,
                         watchdog.loading() ? "load_timeout_ms" : limit),
             engine::EndCause::hung);
  watchdog.on_ended();  // What is left is its exit.
}

TimePoint ProcessHost::deadline() const {
  return std::min({worker_.deadline(), vocabulary_.deadline(), worker_watchdog_.deadline(),
                   vocabulary_watchdog_.deadline()});
}

void ProcessHost::prepare(const text::PrepareRequest& request, TimePoint now) {
  text::encode(request, vocabulary_.outbox());
  vocabulary_watchdog_.on_owed(vocabulary_watchdog_.owed() + 1, now);
}

void ProcessHost::command(engine::Command command, TimePoint now) {
  engine::encode(command, worker_.outbox());
  jobs_.on_command(command);
  worker_watchdog_.on_owed(jobs_.size(), now);
}

void ProcessHost::flush() {
  worker_.flush();
  vocabulary_.flush();
}

}  // namespace seedance::server
