#include "server/ws_session.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace seedance::server {
namespace {

// Of one stream, rendered at once: what is kept when the socket takes it in part.
constexpr std::size_t kFrameBytesMax = std::size_t{16} << 10;

}  // namespace

WsSession::WsSession(EdgeContext& context, ConnectionId connection, api::Subprotocol subprotocol,
                     TimePoint now)
    : context_(context),
      socket_(context.config.limits.websocket, wire::WsRole::server, now),
      connection_(connection),
      subprotocol_(subprotocol) {
  context_.counters.websockets_open.add();
}

WsSession::~WsSession() {
  context_.counters.websockets_open.subtract();
}

bool WsSession::Reader::has_news() const {
  if (!log || cursor.done) return false;
  const stream::Head head = log->head();
  return head.done || head.end > cursor.next;
}

// In.

void WsSession::on_input(std::span<std::byte> bytes, TimePoint now) {
  socket_.on_input(bytes, now);
  take_messages(now);
}

bool WsSession::wants_input() const {
  return answers_.size() < context_.config.limits.pending_bytes_max;
}

void WsSession::on_end(TimePoint now) {
  socket_.on_eof();
  take_messages(now);
  dropped_ = true;
}

void WsSession::on_time(TimePoint now) {
  socket_.on_time(now);
  take_messages(now);
}

TimePoint WsSession::deadline() const {
  TimePoint earliest = socket_.deadline();
  if (blocked_) return earliest;  // Nothing is rendered until it is not.
  for (const Reader& reader : readers_) {
    if (reader.merge > Duration::zero() && reader.has_news()) {
      earliest = std::min(earliest, reader.render_at);
    }
  }
  return earliest;
}

void WsSession::on_blocked(TimePoint now) {
  blocked_ = true;
  socket_.on_blocked(now);
}

void WsSession::on_unblocked(TimePoint now) {
  blocked_ = false;
  socket_.on_unblocked(now);
}

void WsSession::on_drain(TimePoint now) {
  draining_ = true;
  close_if_drained(now);
}

void WsSession::close_if_drained(TimePoint now) {
  if (!draining_ || !readers_.empty() || !socket_.may_send_data()) return;
  socket_.close(wire::CloseCode::going_away, "the server is shutting down", now);
  take_messages(now);
}

void WsSession::take_messages(TimePoint now) {
  while (const auto event = socket_.next()) {
    if (const auto* message = std::get_if<wire::WsMessage>(&*event)) {
      context_.counters.messages_received.add();
      on_message(*message);
    } else {
      dropped_ = std::get<wire::WsClosed>(*event).code ==
                 static_cast<std::uint16_t>(wire::CloseCode::abnormal);
      on_gone();
    }
  }
  close_if_drained(now);
}

void WsSession::on_message(const wire::WsMessage& message) {
  if (message.kind == wire::WsMessage::Kind::binary) {
    return api::append_error(answers_, "", std::nullopt,
                             {.code = ErrorCode::protocol_error,
                              .message = "clients send text messages; this one is binary"});
  }
  api::ClientMessage parsed = api::parse_client_message(message.text(), subprotocol_);
  std::visit([this](auto& body) { on(body); }, parsed);
}

void WsSession::on(api::InferRequest& request) {
  const std::uint32_t streams_max = context_.config.limits.streams_per_connection_max;
  const bool taken = std::ranges::any_of(
      readers_, [&](const Reader& reader) { return reader.view.id() == request.id; });
  std::optional<Problem> problem;
  const StreamId stream = context_.entropy.stream_id(io::wall_now());
  const std::uint32_t number = ++requests_;
  if (taken) {
    problem = {.code = ErrorCode::invalid_request,
               .message = "a stream with this id is running on this connection; choose another",
               .param = "id"};
  } else if (readers_.size() >= streams_max) {
    problem = {.code = ErrorCode::stream_limit,
               .message = "too many streams on this connection; wait for one to end",
               .numbers = {{"streams_max", streams_max}}};
  } else {
    problem = context_.submit(stream,
                              {.edge = context_.edge, .connection = connection_, .request = number},
                              std::move(request.request));
  }
  if (problem) return api::append_error(answers_, request.id, std::nullopt, *problem);
  const Duration merge = request.options.merge.value_or(context_.config.merge);
  const bool whole = !context_.config.streaming && !request.options.merge;
  readers_.push_back({.request = number,
                      .stream = stream,
                      .view = {subprotocol_, std::move(request.id), number, request.options.with},
                      .merge = merge,
                      .render_at = whole ? kNever : TimePoint{}});
}

void WsSession::on(api::CancelRequest& request) {
  const auto reader = std::ranges::find_if(readers_, [&](const Reader& one) {
    return request.stream ? one.stream == *request.stream : one.view.id() == request.id;
  });
  if (reader == readers_.end() && !request.stream) {
    return api::append_error(answers_, request.id, std::nullopt,
                             {.code = ErrorCode::stream_not_found,
                              .message = "no stream with this id is running on this connection"});
  }
  const StreamId stream = request.stream ? *request.stream : reader->stream;
  const bool room = cancelling_.size() < context_.config.limits.streams_per_connection_max;
  const bool posted =
      room &&
      context_.core.try_post(core::CancelStream{
          .reply_to = {.edge = context_.edge, .connection = connection_, .request = ++requests_},
          .principal = {},
          .stream = stream});
  if (!posted) {
    return api::append_error(answers_, request.id, request.stream,
                             {.code = ErrorCode::overloaded,
                              .message = "too many cancels at once; try again in a moment"});
  }
  cancelling_.push_back({requests_, std::move(request.id), stream});
}

void WsSession::on(const api::Ping& ping) {
  api::append_pong(answers_, ping, io::wall_now());
}

void WsSession::on(const api::NativeRefusal& refusal) {
  api::append_error(answers_, refusal.id, std::nullopt, refusal.problem);
}

std::vector<WsSession::Reader>::iterator WsSession::find(std::uint64_t request) {
  return std::ranges::find(readers_, request, &Reader::request);
}

void WsSession::on_reply(std::uint64_t request, ReplyBody& body, TimePoint) {
  if (auto* refused = std::get_if<core::Refused>(&body)) {
    return on_refused(request, refused->problem);
  }
  if (auto* accepted = std::get_if<core::Accepted>(&body)) {
    const auto reader = find(request);
    if (reader == readers_.end()) return;  // Given up meanwhile.
    context_.readers[reader->stream] = connection_;
    api::append_accepted(answers_, reader->view.id(), static_cast<std::uint32_t>(request),
                         *accepted);
    reader->log = std::move(accepted->log);
    return;
  }
  // The cancelled stream tells its end itself, if this connection reads it.
  std::erase_if(cancelling_, [&](const auto& one) { return one.request == request; });
}

void WsSession::on_refused(std::uint64_t request, const Problem& problem) {
  if (const auto reader = find(request); reader != readers_.end()) {
    api::append_error(answers_, reader->view.id(), std::nullopt, problem);
    readers_.erase(reader);
    return;
  }
  const auto cancel = std::ranges::find(cancelling_, request, &Cancelling::request);
  if (cancel == cancelling_.end()) return;
  // A stream of this connection that ended meanwhile has told so.
  const bool own = !cancel->id.empty();
  if (!own) api::append_error(answers_, cancel->id, cancel->stream, problem);
  cancelling_.erase(cancel);
}

// Out.

void WsSession::render(Rendering& out, std::size_t bytes_max, TimePoint now) {
  if (socket_.may_send_data()) out.bytes += answers_;
  if (!answers_.empty()) std::string{}.swap(answers_);
  const std::string_view control = socket_.output();
  out.bytes += control;
  socket_.output_sent(control.size());
  out.fixed = out.bytes.size();
  if (socket_.may_send_data()) render_readers(out, bytes_max, now);
}

void WsSession::render_readers(Rendering& out, std::size_t bytes_max, TimePoint now) {
  const std::size_t count = readers_.size();
  for (std::size_t i = 0; i < count && out.bytes.size() < bytes_max; ++i) {
    if (first_ >= count) first_ = 0;
    Reader& reader = readers_[first_++];
    if (!reader.has_news() || (now < reader.render_at && !reader.log->head().done)) continue;
    const std::size_t begin = out.bytes.size();
    const stream::Cursor before = reader.cursor;
    reader.view.render(*reader.log, reader.cursor, out.bytes, kFrameBytesMax);
    reader.render_at = now + reader.merge;
    out.frames.push_back({begin, out.bytes.size(), reader.request, before});
  }
}

void WsSession::take_back(const Rendering::Frame& frame) {
  find(frame.request)->cursor = frame.before;
}

void WsSession::on_sent(TimePoint now) {
  std::erase_if(readers_, [this](const Reader& reader) {
    if (reader.cursor.done) context_.readers.erase(reader.stream);
    return reader.cursor.done;
  });
  if (readers_.empty()) std::vector<Reader>{}.swap(readers_);  // Idle, it owns nothing.
  close_if_drained(now);
}

// Ends.

Session::Ending WsSession::ending() const {
  if (dropped_) return Ending::drop;
  if (socket_.finished()) return Ending::close;
  return socket_.half_closed() ? Ending::half_close : Ending::open;
}

void WsSession::on_gone() {
  for (const Reader& reader : readers_) {
    if (!reader.cursor.done) context_.give_up(reader.stream);
  }
  readers_.clear();
}

}  // namespace seedance::server
