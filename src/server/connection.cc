#include "server/connection.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/bytes.h"
#include "base/prefetch.h"

namespace seedance::server {

using Flow = io::Moved::Flow;

namespace {

constexpr std::size_t kFarewellBytesMax = 4096;
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 45\r\n"
    "Connection: close\r\n\r\nThis port speaks TLS: use https:// or wss://.";

}  // namespace

void Rendering::clear() {
  bytes.clear();
  fixed = 0;
  frames.clear();
}

Connection::Connection(ConnectionId id, io::Fd socket, std::unique_ptr<Session> session,
                       const ConnectionOptions& options, Counters& counters, TimePoint now)
    : id_(id),
      session_(std::move(session)),
      counters_(&counters),
      channel_(std::move(socket), options.tls),
      stall_timeout_(options.stall_timeout) {
  if (!channel_.established()) handshake_by_ = now + options.handshake_timeout;
}

Connection::~Connection() {
  close();
}

void Connection::on_ready(const io::Ready& ready, Scratch& scratch, TimePoint now) {
  if (closed_) return;
  readable_ = readable_ || ready.readable;
  hung_up_ = hung_up_ || ready.closed;
  if (ready.writable && blocked_) on_writable(now);
  read(scratch, now);
}

void Connection::on_writable(TimePoint now) {
  stalled_at_ = now + stall_timeout_;
  if (!channel_.flush()) return;
  blocked_ = false;
  stalled_at_ = kNever;
  session_->on_unblocked(now);
}

void Connection::on_time(TimePoint now) {
  if (closed_) return;
  if (now >= stalled_at_) {
    counters_->connections_stalled.add();
    return part(Session::Farewell::stalled, now);
  }
  if (now >= handshake_by_) {
    counters_->tls_handshakes_failed.add();
    return close();
  }
  session_->on_time(now);
}

TimePoint Connection::deadline() const {
  return std::min({stalled_at_, handshake_by_, session_->deadline()});
}

void Connection::read(Scratch& scratch, TimePoint now) {
  while (readable_ && !ended_ && to_read_ > 0 && session_->wants_input()) {
    const std::span input{scratch.input.get(), std::min(to_read_, Scratch::kReadBytes)};
    const io::Moved moved = channel_.receive(input);
    counters_->bytes_received.add(moved.bytes);
    to_read_ -= moved.bytes;
    // Much was read that is no data.
    if (moved.flow == Flow::open && moved.bytes < input.size()) to_read_ = 0;
    if (moved.flow == Flow::closed) ended_ = true;
    if (handshake_by_ != kNever) on_handshake(now);
    if (moved.bytes > 0) session_->on_input(input.first(moved.bytes), now);
    if (moved.flow == Flow::blocked && !hung_up_) readable_ = false;
    upgrade(now);
  }
  tell_end(now);
}

// Behind what the session still serves. Whoever does not read its answer will not be
// read either; that the peer is gone is news all the same.
void Connection::tell_end(TimePoint now) {
  if (end_told_ || (!ended_ && !hung_up_) || session_->rests()) return;
  ended_ = ended_ || !session_->wants_input();
  end_told_ = ended_;
  if (!ended_) return;
  session_->on_end(now);
}

// Something came of it, an end perhaps.
void Connection::on_handshake(TimePoint now) {
  if (channel_.established()) {
    handshake_by_ = kNever;
    counters_->tls_handshakes.add();
    if (const auto peer = channel_.peer()) session_->on_certificate(*peer);
  } else if (ended_) {
    handshake_by_ = kNever;
    counters_->tls_handshakes_failed.add();
    if (channel_.met_plain_http()) (void)io::send(channel_.fd(), kPlainHttpAnswer);
  }
  if (!channel_.flush()) block(now);
}

void Connection::upgrade(TimePoint now) {
  if (upgraded_) return;
  Session::Upgrade upgrade = session_->take_upgrade();
  if (!upgrade.session) return;
  upgraded_ = true;
  unsent_ += upgrade.response;
  session_ = std::move(upgrade.session);
  tenant_place_ = std::move(upgrade.place);
  if (blocked_) session_->on_blocked(now);
  if (!upgrade.rest.empty()) {
    session_->on_input(std::as_writable_bytes(std::span{upgrade.rest}), now);
  }
}

bool Connection::flush(Scratch& scratch, std::size_t bytes_max, TimePoint now) {
  if (closed_) return false;
  Rendering& out = scratch.output;
  if (std::exchange(rests_, false)) session_->go_on(now);
  if (may_read()) read(scratch, now);
  bool more = !blocked_;
  for (std::size_t sent = 0; more && sent < kTurnBytes; sent += out.bytes.size()) {
    out.clear();
    if (!unsent_.empty()) {
      out.bytes += unsent_;
      std::string{}.swap(unsent_);  // Idle, it owns no buffer.
      out.fixed = out.bytes.size();
    }
    if (!half_closed_) session_->render(out, bytes_max, now);
    more = !out.bytes.empty() && send_once(out, now);
    if (more && may_read()) read(scratch, now);
    more = more && !blocked_ && (!unsent_.empty() || session_->has_more());
  }
  const bool unread = std::exchange(to_read_, kTurnBytes) == 0;
  if (!closed_) end_as_asked(more);
  if (closed_) return false;
  rests_ = session_->end_turn();
  return more || unread || rests_;
}

void Connection::look_ahead(std::size_t turns) const {
  constexpr std::size_t kHotBytes = 3 * kCacheLineBytes;  // Of it, what a frame needs.
  constexpr std::size_t kSessionBytes = 4 * kCacheLineBytes;
  if (turns == kTurnsAhead) {
    prefetch(this, kHotBytes);
  } else if (turns == kTurnsAhead - 1) {
    prefetch(session_.get(), kSessionBytes);
  } else {
    session_->look_ahead(turns);
  }
}

void Connection::end_as_asked(bool more) {
  const Session::Ending ending = session_->ending();
  if (ending == Session::Ending::drop) return close();
  if (more || blocked_ || !unsent_.empty()) return;
  if (ending == Session::Ending::close) return close();
  if (ending == Session::Ending::half_close && !std::exchange(half_closed_, true)) {
    channel_.shutdown_send();
  }
}

// False when the socket takes no more.
bool Connection::send_once(Rendering& out, TimePoint now) {
  const io::Moved moved = channel_.send(out.bytes);
  counters_->bytes_sent.add(moved.bytes);
  if (moved.bytes > 0) counters_->sends.add();
  if (moved.flow == Flow::closed) {
    close();
    return false;
  }
  if (moved.flow == Flow::blocked) {
    keep(out, moved.bytes);
    block(now);
  }
  session_->on_sent(now);
  if (!upgraded_) upgrade(now);  // It may have come behind a request whose answer is now sent.
  return !blocked_;
}

void Connection::block(TimePoint now) {
  if (std::exchange(blocked_, true)) return;
  stalled_at_ = now + stall_timeout_;
  counters_->sends_blocked.add();
  session_->on_blocked(now);
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
  if (!out.bytes.empty()) counters_->bytes_sent.add(channel_.send_last(out.bytes).bytes);
  close();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  session_->on_gone();
  address_place_.reset();
  tenant_place_.reset();
  counters_->connections_open.subtract();
  channel_.close();
}

}  // namespace seedance::server
