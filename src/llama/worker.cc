#include "llama/worker.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/codec.h"
#include "engine/job.h"
#include "llama/child.h"
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

// Takes commands as they come and works as long as there is work. Ends when the
// parent is gone or something is wrong that cannot be put right here.
Result<void> serve(MessageSocket& socket, Model& model, const WorkerOptions& options) {
  Runner runner{model,
                {.step_target = std::chrono::milliseconds{options.step_target_ms}},
                options.draft_tokens_max};
  while (true) {
    while (true) {
      const auto wait = runner.idle() ? MessageSocket::Wait::yes : MessageSocket::Wait::no;
      const auto body = socket.receive(wait);
      if (!body) return std::unexpected(body.error());
      if (!*body) break;
      auto command = engine::decode_command(**body);
      if (!command) return std::unexpected(command.error());
      runner.on_command(*std::move(command));
    }
    const auto events = runner.step();
    if (!events) return std::unexpected(events.error());
    send(socket, *events);
  }
}

int run(MessageSocket& socket, const WorkerOptions& options) {
  LogCapture log;
  auto model = Model::load(options, log, progress_to(socket));
  if (!model) {
    send(socket, engine::Failed{model.error().detail});
    return kRefused;
  }
  send(socket, engine::Ready{.context_tokens = (*model)->context_tokens(),
                             .sequences_max = (*model)->sequences_max(),
                             .vocabulary_size = (*model)->vocabulary_size(),
                             .timeline = (*model)->timeline()});
  const auto served = serve(socket, **model, options);
  if (served || served.error().code == Errc::disconnected) return kEnded;
  send(socket, engine::Failed{served.error().detail + ": " + log.take()});
  return kBroken;
}

}  // namespace

int run_worker(int fd, const WorkerOptions& options) {
  follow_parent(fd);
  MessageSocket socket{fd};
  try {
    return run(socket, options);
  } catch (const std::exception& error) {
    send(socket, engine::Failed{fmt::format("the worker cannot go on: {}", error.what())});
    return kBroken;
  }
}

}  // namespace seedance::llama
