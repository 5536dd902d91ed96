// The part of WsSession that takes requests in: to the core, or to wait for a place.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"
#include "server/ws_session.h"

namespace seedance::server {
namespace {

constexpr std::uint32_t kRetryAfterMs = 1000;

Problem is_draining() {
  return {.code = ErrorCode::overloaded,
          .message = "the server is shutting down; connect again in a moment",
          .retry_after_ms = kRetryAfterMs};
}

}  // namespace

void WsSession::on(api::InferRequest& request, TimePoint now) {
  auto problem = why_not_named(request.id);
  if (!problem && draining_) problem = is_draining();
  const bool waits = waiting_ || !has_place();
  if (!problem && waits) problem = why_no_wait(request);
  const StreamId stream = context_.entropy.stream_id(io::wall_now());
  if (problem) return refuse(stream, request.id, *problem);
  note(observe::AuditEvent::request, stream);
  if (!waits) return submit(stream, request, Duration::zero());
  if (!waiting_) waiting_ = std::make_unique<WaitingRequests>();
  waiting_->add(stream, std::move(request), context_.config.core.queue_wait_max, now);
  context_.counters.requests_waiting.add();
  submit_waiting(now);  // A reload may have made room.
}

void WsSession::on(api::ResumeRequest& request, TimePoint) {
  auto problem = why_not_named(request.id);
  if (!problem) problem = why_not_resumed();
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
  add_reader(request.stream, std::move(request.id), request.options, true);
}

void WsSession::submit(StreamId stream, api::InferRequest& request, Duration waited) {
  if (const auto problem = context_.submit(caller_, stream, reply_to(++requests_),
                                           std::move(request.request), waited)) {
    return refuse(stream, request.id, *problem);
  }
  add_reader(stream, std::move(request.id), request.options, false);
}

void WsSession::refuse(StreamId stream, std::string_view id, const Problem& problem) {
  note(observe::AuditEvent::refuse, stream, name(problem.code));
  api::append_error(answers_, id, std::nullopt, problem);
}

std::optional<Problem> WsSession::why_not_named(std::string_view id) const {
  const auto has_id = [&](const Reader& reader) { return reader.view.id() == id; };
  if (!std::ranges::any_of(readers_, has_id) && !is_waiting(id)) return std::nullopt;
  return Problem{.code = ErrorCode::invalid_request,
                 .message = "a stream with this id is running on this connection; choose another",
                 .param = "id"};
}

std::optional<Problem> WsSession::why_not_resumed() const {
  const std::uint32_t max = context_.config.limits.resumes_per_connection_max;
  const auto resumed = std::ranges::count(readers_, true, &Reader::resumed);
  if (std::cmp_less(resumed, max)) return std::nullopt;
  context_.counters.stream_limits_met.add();
  return Problem{.code = ErrorCode::stream_limit,
                 .message = fmt::format("this connection has resumed {} streams that have not "
                                        "ended, of at most {}; wait for one to end",
                                        resumed, max),
                 .numbers = {{"streams", resumed}, {"streams_max", max}},
                 .retry_after_ms = kRetryAfterMs};
}

// A place is taken until the stream's end is sent, so who reads slowly asks for no more.
bool WsSession::has_place() const {
  return std::cmp_less(std::ranges::count(readers_, false, &Reader::resumed),
                       context_.config.limits.streams_per_connection_max);
}

std::optional<Problem> WsSession::why_no_wait(const api::InferRequest& request) const {
  const ServerLimits& limits = context_.config.limits;
  const std::uint64_t count = waiting_ ? waiting_->size() : 0;
  const std::uint64_t bytes =
      (waiting_ ? waiting_->bytes() : 0) + WaitingRequests::bytes_of(request);
  if (count < limits.waiting_per_connection_max &&
      bytes <= limits.waiting_bytes_per_connection_max) {
    return std::nullopt;
  }
  context_.counters.stream_limits_met.add();
  return Problem{.code = ErrorCode::stream_limit,
                 .message = fmt::format(
                     "this connection has {} requests in work; {} wait, of at most {}, and "
                     "with this one would take {} bytes, of at most {}; wait for one to "
                     "end",
                     limits.streams_per_connection_max, count, limits.waiting_per_connection_max,
                     bytes, limits.waiting_bytes_per_connection_max),
                 .numbers = {{"streams_max", limits.streams_per_connection_max},
                             {"waiting", static_cast<std::int64_t>(count)},
                             {"waiting_max", limits.waiting_per_connection_max},
                             {"bytes", static_cast<std::int64_t>(bytes)},
                             {"bytes_max",
                              static_cast<std::int64_t>(limits.waiting_bytes_per_connection_max)}},
                 .retry_after_ms = kRetryAfterMs};
}

// Tells the core that the client has everything, so that it need not keep it long.
void WsSession::on(const api::AckRequest& request, TimePoint) {
  std::optional<StreamId> stream = request.stream;
  if (!stream) {
    if (const Finished* finished = find_finished(request.id)) {
      stream = finished->stream;
    } else if (find_id(request.id) == readers_.end() && !is_waiting(request.id)) {
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

void WsSession::on(api::CancelRequest& request, TimePoint) {
  std::optional<StreamId> stream = request.stream;
  if (!stream) {
    const auto reader = find_id(request.id);
    if (reader == readers_.end()) {
      if (cancel_waiting(request.id)) return;
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
  const ServerLimits& limits = context_.config.limits;
  if (cancelling_.size() >=
      std::size_t{limits.streams_per_connection_max} + limits.resumes_per_connection_max) {
    return Problem{.code = ErrorCode::overloaded,
                   .message = "too many cancels at once; try again in a moment",
                   .retry_after_ms = kRetryAfterMs};
  }
  auto problem = context_.ask(core::CancelStream{
      .reply_to = reply_to(++requests_), .principal = caller_.owner(), .stream = stream});
  if (!problem) {
    cancelling_.push_back({requests_, std::move(id), stream});
  }
  return problem;
}

// For the request that was numbered last.
void WsSession::add_reader(StreamId stream, std::string id, const api::NativeOptions& options,
                           bool resumed) {
  const bool whole = !context_.config.streaming && !options.merge;
  readers_.push_back({.request = requests_,
                      .stream = stream,
                      .view = {subprotocol_, std::move(id), requests_, options.with},
                      .merge = options.merge.value_or(context_.config.merge),
                      .merge_bytes = options.merge_bytes,
                      .render_at = whole ? kNever : TimePoint{},
                      .resumed = resumed});
}

void WsSession::on(const api::Ping& ping, TimePoint) {
  if (!socket_.count_ping()) return;
  api::append_pong(answers_, ping, io::wall_now());
}

void WsSession::on(const api::NativeRefusal& refusal, TimePoint) {
  api::append_error(answers_, refusal.id, std::nullopt, refusal.problem);
}

// Those that wait.

bool WsSession::is_waiting(std::string_view id) const {
  return waiting_ && waiting_->contains(id);
}

void WsSession::submit_waiting(TimePoint now) {
  while (waiting_ && has_place()) {
    WaitingRequests::Waiting next = waiting_->take();
    on_taken();
    submit(next.stream, next.request, now - next.arrived);
  }
}

bool WsSession::cancel_waiting(std::string_view id) {
  const auto cancelled = waiting_ ? waiting_->take(id) : std::nullopt;
  if (!cancelled) return false;
  on_taken();
  note(observe::AuditEvent::cancel, cancelled->stream);
  refuse(cancelled->stream, id,
         {.code = ErrorCode::cancelled,
          .message = "the request was cancelled before it was accepted"});
  return true;
}

void WsSession::refuse_late(TimePoint now) {
  while (const auto late = waiting_ ? waiting_->take_late(now) : std::nullopt) {
    on_taken();
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - late->arrived).count();
    refuse(late->stream, late->request.id,
           {.code = ErrorCode::deadline_exceeded,
            .message = fmt::format("the request waited {} ms for others of its connection to end; "
                                   "ask for fewer at once or allow a longer deadline_ms",
                                   waited),
            .numbers = {{"waited_ms", waited}},
            .retry_after_ms = kRetryAfterMs});
  }
}

void WsSession::refuse_waiting() {
  while (waiting_) {
    const WaitingRequests::Waiting next = waiting_->take();
    on_taken();
    refuse(next.stream, next.request.id, is_draining());
  }
}

void WsSession::on_taken() {
  context_.counters.requests_waiting.subtract();
  if (waiting_->empty()) waiting_.reset();
}

}  // namespace seedance::server
