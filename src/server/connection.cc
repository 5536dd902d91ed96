#include "server/connection.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/bytes.h"

namespace seedance::server {

using Flow = io::Moved::Flow;

namespace {

constexpr std::size_t kFarewellBytesMax = 4096;

}  // namespace

void Rendering::clear() {
  bytes.clear();
  fixed = 0;
  frames.clear();
}

Connection::Connection(ConnectionId id, io::Fd socket, std::unique_ptr<Session> session,
                       Duration stall_timeout, Counters& counters)
    : id_(id),
      session_(std::move(session)),
      counters_(&counters),
      stall_timeout_(stall_timeout),
      socket_(std::move(socket)) {}

Connection::~Connection() {
  close();
}

void Connection::on_ready(const io::Ready& ready, Scratch& scratch, TimePoint now) {
  if (closed_) return;
  readable_ = readable_ || ready.readable;
  hung_up_ = hung_up_ || ready.closed;
  if (ready.writable && blocked_) {
    blocked_ = false;
    stalled_at_ = kNever;
    session_->on_unblocked(now);
  }
  read(scratch, now);
}

void Connection::on_time(TimePoint now) {
  if (closed_) return;
  if (now >= stalled_at_) {
    counters_->connections_stalled.add();
    return part(Session::Farewell::stalled, now);
  }
  session_->on_time(now);
}

TimePoint Connection::deadline() const {
  return std::min(stalled_at_, session_->deadline());
}

void Connection::read(Scratch& scratch, TimePoint now) {
  while (readable_ && !ended_ && session_->wants_input()) {
    const std::span input{scratch.input.get(), Scratch::kReadBytes};
    const io::Moved moved = io::receive(socket_, input);
    counters_->bytes_received.add(moved.bytes);
    if (moved.bytes > 0) session_->on_input(input.first(moved.bytes), now);
    if (moved.flow == Flow::closed) ended_ = true;
    if (moved.flow == Flow::blocked && !hung_up_) readable_ = false;
    if (auto upgrade = session_->take_upgrade(); upgrade.session) {
      take_over(std::move(upgrade), now);
    }
    if (ended_) session_->on_end(now);
  }
  // Whoever does not read its answer will not be read either; that the peer is
  // gone is news all the same.
  if (hung_up_ && !ended_ && !session_->wants_input()) {
    ended_ = true;
    session_->on_end(now);
  }
}

void Connection::take_over(Session::Upgrade upgrade, TimePoint now) {
  unsent_ += upgrade.response;
  session_ = std::move(upgrade.session);
  if (!upgrade.rest.empty()) {
    session_->on_input(std::as_writable_bytes(std::span{upgrade.rest}), now);
  }
}

void Connection::flush(Scratch& scratch, std::size_t bytes_max, TimePoint now) {
  Rendering& out = scratch.output;
  while (!closed_ && !blocked_) {
    read(scratch, now);
    out.clear();
    out.bytes += unsent_;
    if (!unsent_.empty()) std::string{}.swap(unsent_);  // Idle, it owns no buffer.
    out.fixed = out.bytes.size();
    if (!half_closed_) session_->render(out, bytes_max, now);
    if (out.bytes.empty() || !send_once(out, now)) break;
  }
  if (closed_) return;
  if (session_->ending() == Session::Ending::drop) return close();
  if (!unsent_.empty()) return;
  if (session_->ending() == Session::Ending::close) return close();
  if (session_->ending() == Session::Ending::half_close && !std::exchange(half_closed_, true)) {
    io::shutdown_send(socket_);
  }
}

// False when the socket takes no more.
bool Connection::send_once(Rendering& out, TimePoint now) {
  const io::Moved moved = io::send(socket_, out.bytes);
  counters_->bytes_sent.add(moved.bytes);
  if (moved.bytes > 0) counters_->sends.add();
  if (moved.flow == Flow::closed) {
    close();
    return false;
  }
  if (moved.flow == Flow::blocked) {
    keep(out, moved.bytes);
    blocked_ = true;
    stalled_at_ = now + stall_timeout_;
    counters_->sends_blocked.add();
    session_->on_blocked(now);
  }
  session_->on_sent(now);
  return !blocked_;
}

void Connection::keep(Rendering& out, std::size_t sent) {
  std::size_t end = std::max(sent, out.fixed);
  for (const Rendering::Frame& frame : std::views::reverse(out.frames)) {
    if (frame.begin >= end) {
      session_->take_back(frame);
    } else {
      end = std::max(end, frame.end);
    }
  }
  unsent_.assign(out.bytes, sent, end - sent);
}

void Connection::part(Session::Farewell why, TimePoint now) {
  if (closed_) return;
  session_->on_farewell(why, now);
  Rendering out;
  out.bytes = std::move(unsent_);  // The rest of a frame first, or nothing could be read.
  out.fixed = out.bytes.size();
  if (!half_closed_) session_->render(out, kFarewellBytesMax, now);
  if (!out.bytes.empty()) counters_->bytes_sent.add(io::send_last(socket_, out.bytes).bytes);
  close();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  session_->on_gone();
  counters_->connections_open.subtract();
  socket_.close();
}

}  // namespace seedance::server
