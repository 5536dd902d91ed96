#include "wire/ws_connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/unicode.h"

namespace seedance::wire {

namespace {

// Pongs are gathered up to here. The last of them, a heartbeat and a Close come to it.
constexpr std::size_t kPongBytesMax = 200;

}  // namespace

static_assert(sizeof(WsConnection) <= 168, "a thousand idle connections cost well below 1 MB");

// What is unfinished: a header, a frame, a message. Exists only meanwhile.
struct WsConnection::Inbox {
  explicit Inbox(TimePoint finish_by) : deadline(finish_by) {}

  bool idle() const { return header_bytes == 0 && !frame && !in_message; }

  // Copies as much of `input` behind the bytes of the header as one can have.
  Bytes header_with(Bytes input) {
    const std::size_t count = std::min(input.size(), header.size() - header_bytes);
    std::memcpy(&header[header_bytes], input.data(), count);
    return Bytes{header}.first(header_bytes + count);
  }

  void begin_message(const FrameHeader& first) {
    in_message = true;
    kind = kind_of(first);
    compressed = first.compressed;
  }

  static WsMessage::Kind kind_of(const FrameHeader& first) {
    return first.opcode == Opcode::text ? WsMessage::Kind::text : WsMessage::Kind::binary;
  }

  TimePoint deadline;
  std::array<std::byte, kFrameHeaderMax> header{};
  std::size_t header_bytes = 0;
  std::optional<FrameHeader> frame;  // Whose payload is being read.
  std::uint64_t frame_bytes = 0;     // Of it, those read.
  std::array<std::byte, kControlPayloadMax> control{};
  std::string message;
  Utf8Validator utf8;
  std::uint32_t fragments = 0;
  WsMessage::Kind kind = WsMessage::Kind::text;
  Compressed compressed = Compressed::no;
  bool in_message = false;
};

WsConnection::WsConnection(const WsLimits& limits, WsRole role, TimePoint now,
                           std::uint64_t mask_seed)
    : limits_(&limits),
      heard_at_(now),
      role_(role),
      now_(now),
      window_began_at_(now),
      mask_seed_(mask_seed) {}

WsConnection::~WsConnection() = default;

void WsConnection::on_input(std::span<std::byte> input, TimePoint now) {
  SEEDANCE_CHECK(input_.empty(), "next() must have used up the input before");
  if (input.empty() || !reads()) return;
  input_ = input;
  now_ = heard_at_ = now;
  pinged_ = false;
}

void WsConnection::on_eof() {
  drop(CloseCode::abnormal, "connection lost");
}

void WsConnection::on_blocked() {
  blocked_ = true;
}

void WsConnection::on_unblocked(TimePoint now) {
  if (!std::exchange(blocked_, false)) return;
  heard_at_ = now;  // The peer has read: the heartbeat starts anew.
  pinged_ = false;
}

void WsConnection::on_time(TimePoint now) {
  now_ = now;
  if (phase_ != Phase::open) {
    if (now >= close_by_) drop(CloseCode::abnormal, "no answer to Close");
    return;
  }
  if (now >= finish_by()) {
    return refuse(CloseCode::policy, kNotInTime);
  }
  if (blocked_) return;
  if (now >= heard_at_ + limits_->dead_after) {
    return drop(CloseCode::abnormal, "no answer to Ping");
  }
  if (!pinged_ && now >= heard_at_ + limits_->ping_after) {
    pinged_ = true;
    if (output_.empty()) queue_frame(Opcode::ping, {});
  }
}

TimePoint WsConnection::deadline() const {
  if (phase_ == Phase::dropped) return kNever;
  if (phase_ != Phase::open) return close_by_;
  const TimePoint alive_by = blocked_  ? kNever
                             : pinged_ ? heard_at_ + limits_->dead_after
                                       : heard_at_ + limits_->ping_after;
  return std::min(alive_by, finish_by());
}

// When what has begun to come must have come.
TimePoint WsConnection::finish_by() const {
  return inbox_ && !inbox_->idle() ? inbox_->deadline : kNever;
}

void WsConnection::close(CloseCode code, std::string_view reason, TimePoint now) {
  if (phase_ != Phase::open) return;
  queue_close(static_cast<std::uint16_t>(code), reason);
  phase_ = Phase::closing;
  close_by_ = now + limits_->close_timeout;
}

std::optional<WsEvent> WsConnection::next() {
  for (;;) {
    if (inbox_ && inbox_->idle()) inbox_.reset();
    if (closed_code_ != 0) return WsClosed{std::exchange(closed_code_, 0), why_};
    if (!reads()) input_ = {};
    if (input_.empty()) return std::nullopt;
    const auto header = inbox_ && inbox_->frame ? inbox_->frame : next_header();
    if (!header) continue;
    if (auto event = read_payload(*header)) return event;
  }
}

bool WsConnection::finished() const {
  return phase_ == Phase::dropped || (phase_ == Phase::closed && output_.empty());
}

bool WsConnection::in_message() const {
  return inbox_ && inbox_->in_message;
}

// Takes a header that is whole from the input; nothing if there is none, either
// because more bytes are needed or because the peer was refused.
std::optional<FrameHeader> WsConnection::next_header() {
  const std::size_t before = inbox_ ? inbox_->header_bytes : 0;
  const DecodedHeader decoded =
      decode_frame_header(before == 0 ? Bytes{input_} : inbox_->header_with(input_),
                          inflater_ != nullptr ? Compressed::yes : Compressed::no);
  if (decoded.status == FrameStatus::malformed) {
    refuse(CloseCode::protocol_error, "malformed frame");
    return std::nullopt;
  }
  if (decoded.status == FrameStatus::need_more) {
    inbox().header_bytes = inbox().header_with(input_).size();
    input_ = {};
    return std::nullopt;
  }
  input_ = input_.subspan(decoded.header.header_bytes - before);
  if (inbox_) inbox_->header_bytes = 0;
  if (!check_header(decoded.header)) return std::nullopt;
  return decoded.header;
}

// The rules that depend on role and state; those of one frame alone are the
// decoder's. Sizes are checked here, before anything is allocated for them.
bool WsConnection::check_header(const FrameHeader& header) {
  if (header.mask.has_value() != (role_ == WsRole::server)) {
    refuse(CloseCode::protocol_error, "wrong masking");
    return false;
  }
  if (is_control(header.opcode)) return true;
  const bool continues = header.opcode == Opcode::continuation;
  if (continues != in_message()) {
    refuse(CloseCode::protocol_error, continues ? "nothing to continue" : "message not finished");
    return false;
  }
  const std::size_t before = continues ? inbox_->message.size() : 0;
  const bool compressed = (continues ? inbox_->compressed : header.compressed) == Compressed::yes;
  const std::size_t most =
      compressed ? compressed_bytes_max(limits_->message_bytes_max) : limits_->message_bytes_max;
  // Beyond it already, when the limit was lowered meanwhile.
  if (header.payload_bytes > most - std::min(most, before)) {
    refuse(CloseCode::too_big, "message too big");
    return false;
  }
  if (continues || header.fin == Fin::no) {
    Inbox& box = inbox();
    if (!continues) box.begin_message(header);
    if (++box.fragments > limits_->fragments_max) {
      refuse(CloseCode::policy, "too many fragments");
      return false;
    }
  }
  return true;
}

std::optional<WsEvent> WsConnection::read_payload(FrameHeader header) {
  const std::uint64_t before = inbox_ && inbox_->frame ? inbox_->frame_bytes : 0;
  const auto piece = input_.first(std::min(header.payload_bytes - before, input_.size()));
  input_ = input_.subspan(piece.size());
  if (header.mask) apply_mask(piece, *header.mask, before);

  const bool ends = before + piece.size() == header.payload_bytes;
  if (!ends) {
    inbox().frame = header;
    inbox_->frame_bytes = before + piece.size();
  } else if (inbox_) {
    inbox_->frame.reset();
  }
  if (!is_control(header.opcode)) return on_data(header, piece, ends);
  if (ends && before == 0) return on_control(header.opcode, piece);
  std::ranges::copy(piece, &inbox_->control[before]);
  if (!ends) return std::nullopt;
  return on_control(header.opcode, Bytes{inbox_->control}.first(header.payload_bytes));
}

std::optional<WsEvent> WsConnection::on_data(const FrameHeader& header, Bytes piece,
                                             bool frame_ends) {
  const bool message_ends = frame_ends && header.fin == Fin::yes;
  if (message_ends && !in_message()) {
    const WsMessage::Kind kind = Inbox::kind_of(header);
    if (header.compressed == Compressed::yes) return inflated(kind, piece);
    if (kind == WsMessage::Kind::binary || is_utf8(as_text(piece))) return message(kind, piece);
    refuse(CloseCode::bad_payload, "text is not UTF-8");
    return std::nullopt;
  }
  Inbox& box = *inbox_;
  if (!box.in_message) box.begin_message(header);
  if (box.kind == WsMessage::Kind::text && box.compressed == Compressed::no) {
    if (!box.utf8.feed(as_text(piece)) || (message_ends && !box.utf8.complete())) {
      refuse(CloseCode::bad_payload, "text is not UTF-8");
      return std::nullopt;
    }
  }
  box.message += as_text(piece);
  if (!message_ends) return std::nullopt;
  box.in_message = false;
  if (box.compressed == Compressed::yes) return inflated(box.kind, as_bytes(box.message));
  return message(box.kind, as_bytes(box.message));
}

// A compressed message that is all here. What it becomes is kept in the inbox.
std::optional<WsEvent> WsConnection::inflated(WsMessage::Kind kind, Bytes payload) {
  if (phase_ != Phase::open) return std::nullopt;
  std::string text;
  switch (inflater_->inflate(payload, limits_->message_bytes_max, text)) {
    case Inflater::Status::too_big:
      refuse(CloseCode::too_big, "message too big");
      return std::nullopt;
    case Inflater::Status::corrupt:
      refuse(CloseCode::bad_payload, "message is not deflated");
      return std::nullopt;
    case Inflater::Status::whole:
      break;
  }
  if (kind == WsMessage::Kind::text && !is_utf8(text)) {
    refuse(CloseCode::bad_payload, "text is not UTF-8");
    return std::nullopt;
  }
  inbox().message = std::move(text);
  return message(kind, as_bytes(inbox_->message));
}

// What comes behind our Close has no reader any more.
std::optional<WsEvent> WsConnection::message(WsMessage::Kind kind, Bytes payload) const {
  if (phase_ != Phase::open) return std::nullopt;
  return WsMessage{kind, payload};
}

std::optional<WsEvent> WsConnection::on_control(Opcode opcode, Bytes payload) {
  if (opcode == Opcode::close) return on_close(payload);
  if (count_ping() && opcode == Opcode::ping && phase_ == Phase::open) queue_pong(payload);
  return std::nullopt;
}

bool WsConnection::count_ping() {
  if (now_ >= window_began_at_ + limits_->controls_window) {
    window_began_at_ = now_;
    controls_ = 0;
  }
  if (++controls_ <= limits_->controls_max) return true;
  refuse(CloseCode::policy, kTooManyPings);
  return false;
}

std::optional<WsEvent> WsConnection::on_close(Bytes payload) {
  auto code = static_cast<std::uint16_t>(CloseCode::no_status);
  std::string_view reason;
  if (!payload.empty()) {
    if (payload.size() < 2) {
      refuse(CloseCode::protocol_error, "close code cut off");
      return std::nullopt;
    }
    code = load<std::uint16_t>(payload.data(), std::endian::big);
    reason = as_text(payload.subspan(2));
    if (!is_sendable_close_code(code)) {
      refuse(CloseCode::protocol_error, "invalid close code");
      return std::nullopt;
    }
    if (!is_utf8(reason)) {
      refuse(CloseCode::bad_payload, "close reason is not UTF-8");
      return std::nullopt;
    }
  }
  if (phase_ == Phase::open) {
    queue_close(code, {});
    close_by_ = now_ + limits_->close_timeout;
  }
  phase_ = Phase::closed;
  return WsClosed{code, reason};
}

WsConnection::Inbox& WsConnection::inbox() {
  if (!inbox_) inbox_ = std::make_unique<Inbox>(now_ + limits_->message_timeout);
  return *inbox_;
}

// The peer broke a rule: says so, if our Close has not been said yet.
void WsConnection::refuse(CloseCode code, const char* why) {
  if (phase_ != Phase::open) return drop(code, why);
  queue_close(static_cast<std::uint16_t>(code), why);
  phase_ = Phase::refused;
  close_by_ = now_ + limits_->close_timeout;
  closed_code_ = static_cast<std::uint16_t>(code);
  why_ = why;
  input_ = {};
  inbox_.reset();
}

void WsConnection::drop(CloseCode code, const char* why) {
  if (reads()) {  // Otherwise WsClosed was given or is due.
    closed_code_ = static_cast<std::uint16_t>(code);
    why_ = why;
  }
  phase_ = Phase::dropped;
  input_ = {};
  inbox_.reset();
  std::string{}.swap(output_);
  pong_bytes_ = 0;
}

void WsConnection::output_sent(std::size_t count) {
  SEEDANCE_CHECK(count <= output_.size(), "more sent than there was");
  if (count == output_.size()) {
    std::string{}.swap(output_);  // Gives the memory back, as assignment would not.
    pong_bytes_ = 0;
    return;
  }
  if (count > pong_at_) pong_bytes_ = 0;
  pong_at_ = static_cast<std::uint16_t>(pong_at_ - std::min<std::size_t>(count, pong_at_));
  output_.erase(0, count);
}

void WsConnection::queue_frame(Opcode opcode, std::string_view payload) {
  if (role_ == WsRole::server) {
    append_frame_header(output_, opcode, Fin::yes, payload.size());
    output_ += payload;
    return;
  }
  const auto random = static_cast<std::uint32_t>(counter_random(mask_seed_, masks_used_++));
  append_masked_frame(output_, opcode, Fin::yes, payload, std::bit_cast<MaskKey>(random));
}

void WsConnection::queue_pong(Bytes payload) {
  if (output_.size() >= kPongBytesMax) output_.erase(pong_at_, pong_bytes_);
  pong_at_ = static_cast<std::uint16_t>(output_.size());
  queue_frame(Opcode::pong, as_text(payload));
  pong_bytes_ = static_cast<std::uint16_t>(output_.size() - pong_at_);
}

void WsConnection::queue_close(std::uint16_t code, std::string_view reason) {
  std::string payload;
  if (code != static_cast<std::uint16_t>(CloseCode::no_status)) {
    append(payload, code, std::endian::big);
    reason = reason.substr(0, kControlPayloadMax - payload.size());
    reason.remove_suffix(incomplete_utf8_tail(reason));
    payload += reason;
  }
  queue_frame(Opcode::close, payload);
}

}  // namespace seedance::wire
