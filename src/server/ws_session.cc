#include "server/ws_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/prefetch.h"
#include "io/clock.h"
#include "server/turned_away.h"

namespace seedance::server {
namespace {

// Of one stream, rendered at once: what is kept when the socket takes it in part.
constexpr std::size_t kFrameBytesMax = std::size_t{16} << 10;
// Of which a client may still speak.
constexpr std::size_t kFinishedMax = 64;
// Taken in one turn: what may be inside of a small frame, and how many may be in a read,
// is work for longer than the other connections can wait.
constexpr std::size_t kTurnBytes = std::size_t{64} << 10;
constexpr std::uint32_t kTurnMessages = 128;

}  // namespace

WsSession::WsSession(EdgeContext& context, ConnectionId connection, api::Subprotocol subprotocol,
                     TimePoint now, std::optional<wire::WsDeflate> deflate, Caller caller)
    : context_(context),
      valid_until_(caller.valid_until(now)),
      active_at_(now),
      deflate_(deflate),
      socket_(context.config.limits.websocket, wire::WsRole::server, now),
      subprotocol_(subprotocol),
      connection_(connection),
      caller_(std::move(caller)) {
  if (deflate_) socket_.allow_compression(context_.inflater);
  context_.counters.websockets_open.add();
}

WsSession::~WsSession() {
  forget_readers();
  context_.counters.websockets_open.subtract();
}

// What is unsent need wait for no more.
bool WsSession::Reader::is_full() const {
  const Offset end = log->head().end;
  return merge_bytes > 0 && log->text_end(end) - log->text_end(cursor.next) >= merge_bytes;
}

bool WsSession::Reader::has_news() const {
  if (!log || cursor.done) return false;
  const stream::Head head = log->head();
  return head.done || head.end > cursor.next;
}

// In.

void WsSession::on_input(std::span<std::byte> bytes, TimePoint now) {
  if (!kept_.empty()) {
    kept_ += as_text(bytes);
  } else {
    take(bytes, now);
  }
}

bool WsSession::wants_input() const {
  return kept_.empty() && has_room();
}

bool WsSession::has_room() const {
  return answers_.size() < context_.config.limits.pending_bytes_max;
}

bool WsSession::may_take() const {
  return has_room() && turn_bytes_ < kTurnBytes && turn_messages_ < kTurnMessages;
}

bool WsSession::end_turn() {
  turn_bytes_ = 0;
  turn_messages_ = 0;
  return rests();
}

void WsSession::go_on(TimePoint now) {
  if (kept_.empty()) return;
  std::string input = std::exchange(kept_, {});
  take(std::as_writable_bytes(std::span{input}), now);
}

void WsSession::take(std::span<std::byte> bytes, TimePoint now) {
  socket_.on_input(bytes, now);
  take_messages(now);
  kept_ = as_text(socket_.take_input());
}

void WsSession::on_end(TimePoint now) {
  std::string{}.swap(kept_);
  socket_.on_eof();
  take_messages(now);
  dropped_ = true;
}

void WsSession::on_time(TimePoint now) {
  if (now >= valid_until_) turn_away(auth::Refusal::token_expired, now);
  if (now >= idle_at()) {
    context_.counters.count_limit(Limit::idle);
    socket_.close(wire::CloseCode::going_away,
                  fmt::format("idle: no stream and no message but pings for {} ms",
                              to_ms(context_.config.limits.idle_timeout)),
                  now);
  }
  socket_.on_time(now);
  take_messages(now);
  refuse_late(now);
}

// When the connection has been of no use for too long. A peer that is behind is not idle.
TimePoint WsSession::idle_at() const {
  const Duration timeout = context_.config.limits.idle_timeout;
  const bool idle = readers_.empty() && cancelling_.empty() && answers_.empty() && !blocked_ &&
                    socket_.may_send_data();
  return timeout > Duration::zero() && idle ? active_at_ + timeout : kNever;
}

TimePoint WsSession::deadline() const {
  TimePoint earliest = std::min({socket_.deadline(), idle_at(), valid_until_});
  if (waiting_) earliest = std::min(earliest, waiting_->deadline());
  if (blocked_) return earliest;  // Nothing is rendered until it is not.
  for (const Reader& reader : readers_) {
    if (reader.merge > Duration::zero() && reader.has_news()) {
      earliest = std::min(earliest, reader.render_at);
    }
  }
  return earliest;
}

void WsSession::on_blocked(TimePoint) {
  blocked_ = true;
  socket_.on_blocked();
}

void WsSession::on_unblocked(TimePoint now) {
  blocked_ = false;
  socket_.on_unblocked(now);
}

void WsSession::on_drain(TimePoint now) {
  if (std::exchange(draining_, true)) return;
  if (socket_.may_send_data()) {
    api::append_goaway(answers_, "drain", context_.config.drain_timeout);
  }
  refuse_waiting();
  close_if_drained(now);
}

bool WsSession::on_access(TimePoint now) {
  if (context_.access.gate->still_admits(caller_.principal, io::wall_now())) return false;
  turn_away(auth::Refusal::revoked, now);
  return true;
}

// His streams go on: he resumes them when he comes in again.
void WsSession::turn_away(auth::Refusal why, TimePoint now) {
  valid_until_ = kNever;
  if (!socket_.may_send_data()) return;  // It closes already.
  context_.counters.count_refusal(why);
  context_.note(caller_, observe::AuditEvent::refuse, Route::websocket, {}, 0, auth::name(why));
  on_gone();
  socket_.close(wire::CloseCode::policy, close_reason(why), now);
  take_messages(now);
}

// Behind everything that is still to be said.
void WsSession::close_if_drained(TimePoint now) {
  if (!draining_ || !readers_.empty() || !answers_.empty() || !socket_.may_send_data()) return;
  socket_.close(wire::CloseCode::restart, "the server is shutting down", now);
  take_messages(now);
}

void WsSession::on_farewell(Farewell why, TimePoint now) {
  if (why == Farewell::stalled) {
    on_gone();
    socket_.close(wire::CloseCode::overloaded, "you read too slowly: resume where you are", now);
  } else {
    forget_readers();  // Without a word to the core: what becomes of them is the journal's.
    socket_.close(wire::CloseCode::restart, "the server is shutting down", now);
  }
  take_messages(now);
}

void WsSession::take_messages(TimePoint now) {
  // Without input, what comes is the end.
  while (may_take() || !socket_.has_input()) {
    const auto event = socket_.next();
    if (!event) break;
    if (const auto* message = std::get_if<wire::WsMessage>(&*event)) {
      context_.counters.messages_received.add();
      turn_bytes_ += message->payload.size();
      ++turn_messages_;
      on_message(*message, now);
    } else {
      on_closed(std::get<wire::WsClosed>(*event));
    }
  }
  close_if_drained(now);
}

void WsSession::on_closed(const wire::WsClosed& closed) {
  if (closed.reason == wire::kTooManyPings) context_.counters.count_limit(Limit::pings);
  if (closed.reason == wire::kNotInTime) context_.counters.count_limit(Limit::arrival);
  dropped_ = closed.code == static_cast<std::uint16_t>(wire::CloseCode::abnormal);
  on_gone();
}

void WsSession::on_message(const wire::WsMessage& message, TimePoint now) {
  if (message.kind == wire::WsMessage::Kind::binary) {
    return api::append_error(answers_, "", std::nullopt,
                             {.code = ErrorCode::protocol_error,
                              .message = "clients send text messages; this one is binary"});
  }
  api::ClientMessage parsed = api::parse_client_message(message.text(), subprotocol_);
  if (!std::holds_alternative<api::Ping>(parsed)) active_at_ = now;
  std::visit([&](auto& body) { on(body, now); }, parsed);
}

void WsSession::note(observe::AuditEvent event, StreamId stream, std::string_view code) const {
  context_.note(caller_, event, Route::websocket, stream, 0, code);
}

core::ReplyTo WsSession::reply_to(std::uint64_t request) const {
  return {.edge = context_.edge, .connection = connection_, .request = request};
}

std::vector<WsSession::Reader>::iterator WsSession::find(std::uint64_t request) {
  return std::ranges::find(readers_, request, &Reader::request);
}

std::vector<WsSession::Reader>::iterator WsSession::find_id(std::string_view id) {
  return std::ranges::find_if(readers_, [&](const Reader& one) { return one.view.id() == id; });
}

// The latest: an id may have been used again.
const WsSession::Finished* WsSession::find_finished(std::string_view id) const {
  const auto newest = std::views::reverse(finished_);
  const auto found = std::ranges::find(newest, id, &Finished::id);
  return found == newest.end() ? nullptr : &*found;
}

// Answers of the core. A reader that is not there was given up meanwhile.

void WsSession::on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) {
  active_at_ = now;
  if (auto* accepted = std::get_if<core::Accepted>(&body)) {
    if (const auto reader = find(request); reader != readers_.end()) {
      on_accepted(*reader, *accepted);
    }
  } else if (auto* resumed = std::get_if<core::Resumed>(&body)) {
    on_resumed(request, *resumed);
  } else if (const auto* refused = std::get_if<core::Refused>(&body)) {
    on_refused(request, refused->problem);
  } else {
    // The cancelled stream tells its end itself, if this connection reads it.
    on_cancelled(request);
  }
  submit_waiting(now);
}

void WsSession::on_accepted(Reader& reader, core::Accepted& accepted) {
  if (accepted.attached) context_.counters.count_resume(ResumeCause::key);
  api::append_accepted(answers_, reader.view.id(), static_cast<std::uint32_t>(reader.request),
                       accepted);
  begin(reader, accepted, Offset{0});
  if (std::exchange(reader.cancelled, false)) (void)ask_cancel(reader.view.id(), reader.stream);
}

void WsSession::on_resumed(std::uint64_t request, core::Resumed& resumed) {
  const auto reader = find(request);
  if (reader == readers_.end()) return;
  if (reader->view.with().logprobs && !resumed.stream.log->with_logprobs()) {
    note(observe::AuditEvent::refuse, reader->stream, name(ErrorCode::invalid_request));
    api::append_error(answers_, reader->view.id(), reader->stream,
                      {.code = ErrorCode::invalid_request,
                       .message = "the stream keeps no logprobs: it was not asked for them",
                       .param = "with"});
    context_.give_up(reply_to(request));
    readers_.erase(reader);
    return;
  }
  note(observe::AuditEvent::resume, reader->stream);
  context_.counters.count_resume(ResumeCause::native);
  api::append_resumed(answers_, reader->view.id(), static_cast<std::uint32_t>(request), resumed);
  begin(*reader, resumed.stream, resumed.from);
}

void WsSession::on_cancelled(std::uint64_t request) {
  const auto cancel = std::ranges::find(cancelling_, request, &Cancelling::request);
  if (cancel == cancelling_.end()) return;
  note(observe::AuditEvent::cancel, cancel->stream);
  cancelling_.erase(cancel);
}

void WsSession::begin(Reader& reader, core::Accepted& accepted, Offset from) {
  reader.stream = accepted.stream;
  reader.log = std::move(accepted.log);
  reader.cursor = {.next = from};
  reader.check = api::DeliveryCheck{from};
}

void WsSession::on_refused(std::uint64_t request, const Problem& problem) {
  if (const auto reader = find(request); reader != readers_.end()) {
    const auto named = reader->resumed ? std::optional{reader->stream} : std::nullopt;
    note(observe::AuditEvent::refuse, reader->stream, name(problem.code));
    api::append_error(answers_, reader->view.id(), named, problem);
    readers_.erase(reader);
    return;
  }
  const auto cancel = std::ranges::find(cancelling_, request, &Cancelling::request);
  if (cancel == cancelling_.end()) return;
  if (cancel->id.empty()) {
    note(observe::AuditEvent::refuse, cancel->stream, name(problem.code));
    api::append_error(answers_, cancel->id, cancel->stream, problem);
  } else if (const auto reader = find_id(cancel->id); reader != readers_.end() && !reader->log) {
    reader->cancelled = true;  // Its key names a stream that is not accepted yet.
  }
  // Otherwise a stream of this connection ended meanwhile, and has told so.
  cancelling_.erase(cancel);
}

// Out.

void WsSession::render(Rendering& out, std::size_t bytes_max, TimePoint now) {
  if (!answers_.empty()) {
    const std::size_t begin = out.bytes.size();
    if (socket_.may_send_data()) out.bytes += answers_;
    compress(out.bytes, begin);
    std::string{}.swap(answers_);
  }
  if (const std::string_view control = socket_.output(); !control.empty()) {
    out.bytes += control;
    socket_.output_sent(control.size());
  }
  out.fixed = out.bytes.size();
  cut_off_ = false;
  if (socket_.may_send_data()) render_readers(out, bytes_max, now);
}

bool WsSession::has_more() const {
  return cut_off_ || !answers_.empty() || !socket_.output().empty();
}

// No frame needs another to be read: one that is taken back can come again otherwise.
void WsSession::compress(std::string& frames, std::size_t begin) {
  if (!deflate_) return;
  wire::compress_frames(frames, begin, context_.deflater, context_.deflate_options(*deflate_));
}

void WsSession::render_readers(Rendering& out, std::size_t bytes_max, TimePoint now) {
  const std::size_t count = readers_.size();
  for (std::size_t i = 0; i < count && out.bytes.size() < bytes_max; ++i) {
    if (first_ >= count) first_ = 0;
    Reader& reader = readers_[first_++];
    if (!reader.has_news()) continue;
    if (now < reader.render_at && !reader.log->head().done && !reader.is_full()) continue;
    const std::size_t begin = out.bytes.size();
    const stream::Cursor before = reader.cursor;
    const api::Rendered rendered =
        reader.view.render(*reader.log, reader.cursor, out.bytes, kFrameBytesMax);
    context_.check(reader.check, rendered, reader.log->head().end);
    if (deflate_) compress(out.bytes, begin);
    reader.render_at = now + reader.merge;
    out.frames.push_back({begin, out.bytes.size(), reader.request, before});
    ended_ = ended_ || rendered.done;
    cut_off_ = cut_off_ || reader.has_news();
  }
  cut_off_ = cut_off_ || out.bytes.size() >= bytes_max;
}

// Only of the first one to be rendered: with more, that is what the connection waits for.
void WsSession::look_ahead(std::size_t steps) const {
  if (readers_.empty()) return;
  const Reader& reader = readers_[first_ < readers_.size() ? first_ : 0];
  if (steps == kStepsAhead) return prefetch(&reader, sizeof reader);
  if (!reader.log) return;
  if (steps == kStepsAhead - 1) return reader.log->prefetch_head();
  reader.view.look_ahead(*reader.log);
}

void WsSession::take_back(const Rendering::Frame& frame) {
  Reader& reader = *find(frame.request);
  if (!reader.check.on_taken_back(frame.before.next)) context_.counters.seq_gaps.add();
  reader.cursor = frame.before;
}

void WsSession::on_sent(TimePoint now) {
  if (!readers_.empty()) active_at_ = now;
  if (std::exchange(ended_, false)) {
    std::erase_if(readers_, [this](Reader& reader) {
      if (reader.cursor.done) finish(reader);
      return reader.cursor.done;
    });
  }
  if (waiting_) submit_waiting(now);
  if (readers_.empty()) std::vector<Reader>{}.swap(readers_);  // Idle, it owns nothing.
  if (!kept_.empty() && may_take()) go_on(now);
  if (draining_) close_if_drained(now);
}

void WsSession::finish(Reader& reader) {
  if (finished_.size() == kFinishedMax) finished_.erase(finished_.begin());
  finished_.push_back({reader.view.id(), reader.stream});
}

// Ends.

Session::Ending WsSession::ending() const {
  if (dropped_) return Ending::drop;
  if (socket_.may_send_data()) return Ending::open;
  if (socket_.finished()) return Ending::close;
  return socket_.half_closed() ? Ending::half_close : Ending::open;
}

void WsSession::on_gone() {
  for (const Reader& reader : readers_) {
    if (!reader.cursor.done) context_.give_up(reply_to(reader.request));
  }
  forget_readers();
}

void WsSession::forget_readers() {
  for (const Reader& reader : readers_) {
    if (reader.resumed && !reader.log) {
      note(observe::AuditEvent::resume, reader.stream, kUnanswered);
    }
  }
  for (const Cancelling& cancel : cancelling_) {
    note(observe::AuditEvent::cancel, cancel.stream, kUnanswered);
  }
  readers_.clear();
  cancelling_.clear();
  if (waiting_) context_.counters.requests_waiting.subtract(waiting_->size());
  waiting_.reset();
}

}  // namespace seedance::server
