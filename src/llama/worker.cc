#include "llama/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec.h"
#include "engine/job.h"
#include "llama/child.h"
#include "llama/failure.h"
#include "llama/fault.h"
#include "llama/log_capture.h"
#include "llama/message_socket.h"
#include "llama/model.h"
#include "llama/runner.h"

namespace seedance::llama {
namespace {

constexpr int kEnded = 0;
constexpr int kBroken = 1;
constexpr int kRefused = 2;

void send(MessageSocket& socket, std::span<const engine::Event> events) {
  std::string out;
  for (const engine::Event& event : events) engine::encode(event, out);
  // A closed socket shows when the next command is asked for.
  static_cast<void>(socket.send(out));
}

void send(MessageSocket& socket, const engine::Event& event) {
  send(socket, std::span{&event, 1});
}

// Sends progress in steps of at least a hundredth.
auto progress_to(MessageSocket& socket) {
  return [&socket, sent = -1.0F](float progress) mutable {
    if (progress < sent + 0.01F && progress < 1) return;
    sent = progress;
    send(socket, engine::Loading{progress});
  };
}

engine::DeviceMemory memory_of(const DeviceUse& use) {
  return {.weights = use.weights, .kv = use.streams, .compute = use.compute};
}

std::vector<engine::DeviceReport> report_of(const Model& model) {
  const std::vector<DeviceUse>& taken = model.taken();
  std::vector<engine::DeviceReport> report(taken.size());
  for (std::size_t at = 0; at < taken.size(); ++at) {
    report[at] = {.device = taken[at].name,
                  .predicted = memory_of(model.predicted().devices.at(at)),
                  .taken = memory_of(taken[at])};
  }
  return report;
}

bool is_sign_of_life(const engine::Event& event) {
  return std::holds_alternative<engine::Alive>(event);
}

// Takes commands as they come and works as long as there is work. Ends when the
// parent is gone or something is wrong that cannot be put right here.
Result<void> serve(MessageSocket& socket, Model& model, const WorkerOptions& options,
                   const Fault& fault) {
  Runner runner{
      model,
      {.prefill = {.step_target = std::chrono::milliseconds{options.step_target_ms},
                   .step_max = std::chrono::milliseconds{options.step_max_ms},
                   .pause_max = std::chrono::milliseconds{options.prefill_pause_ms}},
       .drafting = {.tokens_max = options.draft_tokens_max, .ngrams = options.draft_ngrams},
       .grammar_bytes_max = options.grammar_bytes_max,
       .park_bytes_max = std::uint64_t{options.park_memory_mb} << 20U},
      fault};
  auto said = std::chrono::steady_clock::now();
  auto memory_told = said;
  bool idle_told = false;  // What is in memory, since the last step.
  while (true) {
    while (true) {
      const bool idle = runner.idle();
      if (idle && !std::exchange(idle_told, true)) send(socket, runner.take_memory());
      const auto body = socket.receive(idle ? MessageSocket::Wait::yes : MessageSocket::Wait::no);
      if (!body) return std::unexpected(body.error());
      if (!*body) break;
      auto command = engine::decode_command(**body);
      if (!command) return std::unexpected(command.error());
      runner.on_command(*std::move(command));
    }
    idle_told = false;
    const auto events = runner.step();
    if (!events) return std::unexpected(events.error());
    const auto now = std::chrono::steady_clock::now();
    const bool news = !std::ranges::all_of(*events, is_sign_of_life);
    if (news || now - said >= options.alive_every) {
      said = now;
      send(socket, *events);
    }
    if (now - memory_told >= options.memory_every) {
      memory_told = now;
      send(socket, runner.take_memory());
    }
  }
}

int run(MessageSocket& socket, const WorkerOptions& options) {
  const auto refuse = [&socket](const Error& error) {
    send(socket, engine::Failed{error.detail, cause_of_refusal(error)});
    return kRefused;
  };
  auto plan = parse_fault(options.fault);
  if (!plan) return refuse(plan.error());
  Fault fault{*std::move(plan)};
  if (fault.strikes(FaultPlan::Place::load)) {
    return refuse({Errc::overloaded, "no memory can be set up for the model (SEEDANCE_FAULT)"});
  }
  LogCapture log;
  auto model = Model::load(options, log, progress_to(socket));
  if (!model) return refuse(model.error());
  send(socket, engine::Ready{.context_tokens = (*model)->context_tokens(),
                             .sequences_max = (*model)->sequences_max(),
                             .vocabulary_size = (*model)->vocabulary_size(),
                             .timeline = (*model)->timeline(),
                             .memory = report_of(**model),
                             .warnings = (*model)->predicted().warnings});
  const auto served = serve(socket, **model, options, fault);
  if (served || served.error().code == Errc::disconnected) return kEnded;
  send(socket,
       engine::Failed{served.error().detail + because(log.take()), cause_of_break(served.error())});
  return kBroken;
}

}  // namespace

int run_worker(int fd, const WorkerOptions& options) {
  follow_parent(fd);
  MessageSocket socket{fd};
  try {
    return run(socket, options);
  } catch (const std::exception& error) {
    send(socket,
         engine::Failed{fmt::format("the worker cannot go on: {}", error.what()), cause_of(error)});
    return kBroken;
  }
}

}  // namespace seedance::llama
