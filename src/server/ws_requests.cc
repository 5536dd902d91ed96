// The part of WsSession that takes what clients ask for.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/native.h"
#include "io/clock.h"
#include "server/ws_session.h"

namespace seedance::server {
namespace {

constexpr std::uint32_t kRetryAfterMs = 1000;

}  // namespace

void WsSession::on(api::InferRequest& request) {
  auto problem = why_not_read(request.id);
  if (!problem && draining_) {
    problem = {.code = ErrorCode::overloaded,
               .message = "the server is shutting down; connect again in a moment",
               .retry_after_ms = kRetryAfterMs};
  }
  const StreamId stream = context_.entropy.stream_id(io::wall_now());
  if (!problem) {
    problem = context_.submit(caller_, stream, reply_to(++requests_), std::move(request.request));
  }
  if (problem) {
    note(observe::AuditEvent::refuse, stream, name(problem->code));
    return api::append_error(answers_, request.id, std::nullopt, *problem);
  }
  note(observe::AuditEvent::request, stream);
  add_reader(stream, std::move(request.id), request.options, false);
}

void WsSession::on(api::ResumeRequest& request) {
  auto problem = why_not_read(request.id);
  if (!problem) {
    problem = context_.ask(core::Attach{.reply_to = reply_to(++requests_),
                                        .principal = caller_.owner(),
                                        .stream = request.stream,
                                        .from = request.from,
                                        .epoch = request.epoch});
  }
  if (problem) {
    note(observe::AuditEvent::refuse, request.stream, name(problem->code));
    return api::append_error(answers_, request.id, request.stream, *problem);
  }
  note(observe::AuditEvent::resume, request.stream);
  add_reader(request.stream, std::move(request.id), request.options, true);
}

std::optional<Problem> WsSession::why_not_read(std::string_view id) const {
  const auto has_id = [&](const Reader& reader) { return reader.view.id() == id; };
  if (std::ranges::any_of(readers_, has_id)) {
    return Problem{.code = ErrorCode::invalid_request,
                   .message = "a stream with this id is running on this connection; choose another",
                   .param = "id"};
  }
  const std::uint32_t streams_max = context_.config.limits.streams_per_connection_max;
  if (readers_.size() < streams_max) return std::nullopt;
  return Problem{.code = ErrorCode::stream_limit,
                 .message = "too many streams on this connection; wait for one to end",
                 .numbers = {{"streams_max", streams_max}}};
}

// For the request that was numbered last.
void WsSession::add_reader(StreamId stream, std::string id, const api::NativeOptions& options,
                           bool resumed) {
  const bool whole = !context_.config.streaming && !options.merge;
  readers_.push_back({.request = requests_,
                      .stream = stream,
                      .view = {subprotocol_, std::move(id), requests_, options.with},
                      .merge = options.merge.value_or(context_.config.merge),
                      .render_at = whole ? kNever : TimePoint{},
                      .resumed = resumed});
}

// Tells the core that the client has everything, so that it need not keep it long.
void WsSession::on(const api::AckRequest& request) {
  std::optional<StreamId> stream = request.stream;
  if (!stream) {
    if (const Finished* finished = find_finished(request.id)) {
      stream = finished->stream;
    } else if (find_id(request.id) == readers_.end()) {
      return api::append_error(answers_, request.id, std::nullopt,
                               {.code = ErrorCode::stream_not_found,
                                .message = "no stream with this id ended here lately; name it by "
                                           "\"stream\""});
    }
  }
  // Lost, when the core has no room, it only keeps the stream as long as others.
  if (stream) {
    (void)context_.ask(
        core::Acknowledge{.principal = caller_.owner(), .stream = *stream, .from = request.total});
  }
}

void WsSession::on(api::CancelRequest& request) {
  std::optional<StreamId> stream = request.stream;
  if (!stream) {
    const auto reader = find_id(request.id);
    if (reader == readers_.end()) {
      if (find_finished(request.id) != nullptr) return;  // Its end was told.
      return api::append_error(answers_, request.id, std::nullopt,
                               {.code = ErrorCode::stream_not_found,
                                .message = "no stream with this id is running on this connection"});
    }
    stream = reader->stream;
  }
  if (const auto problem = ask_cancel(request.id, *stream)) {
    api::append_error(answers_, request.id, request.stream, *problem);
  }
}

std::optional<Problem> WsSession::ask_cancel(std::string id, StreamId stream) {
  if (cancelling_.size() >= context_.config.limits.streams_per_connection_max) {
    return Problem{.code = ErrorCode::overloaded,
                   .message = "too many cancels at once; try again in a moment",
                   .retry_after_ms = kRetryAfterMs};
  }
  auto problem = context_.ask(core::CancelStream{
      .reply_to = reply_to(++requests_), .principal = caller_.owner(), .stream = stream});
  if (!problem) {
    note(observe::AuditEvent::cancel, stream);
    cancelling_.push_back({requests_, std::move(id), stream});
  }
  return problem;
}

void WsSession::on(const api::Ping& ping) {
  if (!socket_.count_ping()) return;
  api::append_pong(answers_, ping, io::wall_now());
}

void WsSession::on(const api::NativeRefusal& refusal) {
  api::append_error(answers_, refusal.id, std::nullopt, refusal.problem);
}

}  // namespace seedance::server
