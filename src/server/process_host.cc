#include "server/process_host.h"

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
  add("--kv-tokens", options.kv_tokens);
  if (!options.kv_type.empty()) argv.insert(argv.end(), {"--kv-type", options.kv_type});
  return argv;
}

std::vector<std::string> vocabulary_argv(const std::string& program, const LlamaModel& options) {
  return common_argv(program, "vocabulary", options);
}

// libgomp's compute threads spin after each step and keep a core from the rest of
// the server; so briefly costs no token (docs/performance.md).
std::vector<std::string> worker_environment() {
  return {"GOMP_SPINCOUNT=1000"};
}

ProcessHost::ProcessHost(core::ModelIndex model, const std::string& program,
                         const LlamaModel& options, io::Poller& poller, io::Token first)
    : Host(model),
      first_(first),
      worker_(worker_argv(program, options), worker_environment(), poller, first,
              token_after(first, 1)),
      vocabulary_(vocabulary_argv(program, options), {}, poller, token_after(first, 2),
                  token_after(first, 3)) {}

Result<void> ProcessHost::start(TimePoint now) {
  if (auto started = vocabulary_.start(now); !started) return started;
  return worker_.start(now);
}

void ProcessHost::on_ready(const io::Ready& ready, TimePoint now) {
  if (ready.token < token_after(first_, 2)) {
    worker_.on_ready(ready, now);
    take_events();
  } else {
    vocabulary_.on_ready(ready, now);
    take_vocabulary_events();
  }
}

void ProcessHost::take_events() {
  while (const auto message = worker_.next()) {
    auto event = engine::decode_event(*message);
    if (!event) {
      worker_.kill("sent a message that cannot be read");
      break;
    }
    if (auto* failed = std::get_if<engine::Failed>(&*event)) {
      worker_failure_ = std::move(failed->message);
      worker_.kill({});
    } else {
      if (std::holds_alternative<engine::Step>(*event)) worker_.on_work();
      tell_engine(std::move(*event));
    }
  }
  if (const auto end = worker_.end()) {
    const std::string said = std::exchange(worker_failure_, {});
    if (said.empty()) {
      tell_engine_down("the worker " + *end, End::died);
    } else {
      tell_engine_down(said, End::told);
    }
  }
}

void ProcessHost::take_vocabulary_events() {
  while (const auto message = vocabulary_.next()) {
    auto event = text::decode_vocabulary_event(*message);
    if (!event) {
      vocabulary_.kill("sent a message that cannot be read");
      break;
    }
    if (auto* failed = std::get_if<text::VocabularyFailed>(&*event)) {
      vocabulary_failure_ = std::move(failed->message);
      vocabulary_.kill({});
      continue;
    }
    if (std::holds_alternative<text::PrepareReply>(*event)) vocabulary_.on_work();
    vocabulary_ready_ = vocabulary_ready_ || std::holds_alternative<text::VocabularyReady>(*event);
    messages_.emplace_back(core::VocabularyEvent{model_, std::move(*event)});
  }
  if (const auto end = vocabulary_.end()) {
    std::string said = std::exchange(vocabulary_failure_, {});
    const End how = said.empty() ? End::died : End::told;
    if (said.empty()) said = "the vocabulary process " + *end;
    if (!vocabulary_ready_) note_failed_start(said, how, vocabulary_start_deaths_);
    note_restart(said);
    messages_.emplace_back(core::VocabularyDown{model_});
  }
}

void ProcessHost::on_time(TimePoint now) {
  worker_.on_time(now);
  take_events();
  vocabulary_.on_time(now);
  take_vocabulary_events();
}

TimePoint ProcessHost::deadline() const {
  return std::min(worker_.deadline(), vocabulary_.deadline());
}

void ProcessHost::prepare(const text::PrepareRequest& request) {
  text::encode(request, vocabulary_.outbox());
}

void ProcessHost::command(engine::Command command, TimePoint) {
  engine::encode(command, worker_.outbox());
}

void ProcessHost::flush() {
  worker_.flush();
  vocabulary_.flush();
}

}  // namespace seedance::server
