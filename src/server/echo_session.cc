#include "server/echo_session.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"
#include "server/turned_away.h"

namespace seedance::server {

EchoSession::EchoSession(EdgeContext& context, std::optional<wire::WsDeflate> deflate,
                         TimePoint now, Caller caller)
    : context_(context),
      caller_(std::move(caller)),
      valid_until_(caller_.valid_until(now)),
      socket_(context.config.limits.websocket, wire::WsRole::server, now),
      deflate_(deflate) {
  if (deflate_) socket_.allow_compression(context_.inflater);
  context_.counters.websockets_open.add();
}

EchoSession::~EchoSession() {
  context_.counters.websockets_open.subtract();
}

void EchoSession::on_input(std::span<std::byte> bytes, TimePoint now) {
  waiting_ += as_text(bytes);
  advance(now);
}

void EchoSession::on_end(TimePoint now) {
  socket_.on_eof();
  dropped_ = true;
  advance(now);
}

void EchoSession::on_time(TimePoint now) {
  if (now >= valid_until_) turn_away(auth::Refusal::token_expired, now);
  socket_.on_time(now);
  advance(now);
}

void EchoSession::on_drain(TimePoint now) {
  on_farewell(Farewell::restart, now);
}

void EchoSession::on_farewell(Farewell why, TimePoint now) {
  if (why == Farewell::stalled) {
    socket_.close(wire::CloseCode::overloaded, "you read too slowly", now);
  } else {
    socket_.close(wire::CloseCode::restart, "the server is shutting down", now);
  }
  advance(now);
}

bool EchoSession::on_access(TimePoint now) {
  if (context_.access.gate->still_admits(caller_.principal, io::wall_now())) return false;
  turn_away(auth::Refusal::revoked, now);
  return true;
}

void EchoSession::turn_away(auth::Refusal why, TimePoint now) {
  valid_until_ = kNever;
  if (!socket_.may_send_data()) return;  // It closes already.
  context_.counters.count_refusal(why);
  context_.note(caller_, observe::AuditEvent::refuse, Route::debug_echo, {}, 0, auth::name(why));
  socket_.close(wire::CloseCode::policy, close_reason(why), now);
  advance(now);
}

// Up to the next message.
void EchoSession::advance(TimePoint now) {
  while (echo_.empty()) {
    if (const auto event = socket_.next()) {
      if (const auto* message = std::get_if<wire::WsMessage>(&*event)) say(*message);
    } else if (!waiting_.empty()) {
      input_ = std::exchange(waiting_, {});
      socket_.on_input(std::as_writable_bytes(std::span{input_}), now);
    } else {
      std::string{}.swap(input_);
      return;
    }
  }
}

void EchoSession::say(const wire::WsMessage& message) {
  context_.counters.messages_received.add();
  const bool is_text = message.kind == wire::WsMessage::Kind::text;
  wire::append_frame_header(echo_, is_text ? wire::Opcode::text : wire::Opcode::binary,
                            wire::Fin::yes, message.payload.size());
  echo_ += message.text();
  if (!deflate_) return;
  wire::compress_frames(echo_, 0, context_.deflater, context_.deflate_options(*deflate_));
}

void EchoSession::render(Rendering& out, std::size_t bytes_max, TimePoint) {
  if (sent_ == 0) {  // Not inside of a frame.
    const std::string_view control = socket_.output();
    out.bytes += control;
    socket_.output_sent(control.size());
    if (!socket_.may_send_data()) std::string{}.swap(echo_);
  }
  if (!echo_.empty() && out.bytes.size() < bytes_max) {
    const std::size_t count = std::min(bytes_max - out.bytes.size(), echo_.size() - sent_);
    out.bytes.append(echo_, sent_, count);
    sent_ += count;
    if (sent_ == echo_.size()) {
      std::string{}.swap(echo_);
      sent_ = 0;
    }
  }
  out.fixed = out.bytes.size();
}

void EchoSession::on_sent(TimePoint now) {
  advance(now);
}

Session::Ending EchoSession::ending() const {
  if (dropped_) return Ending::drop;
  if (socket_.finished()) return Ending::close;
  return socket_.half_closed() ? Ending::half_close : Ending::open;
}

}  // namespace seedance::server
