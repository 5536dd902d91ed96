// One WebSocket connection (RFC 6455) without its socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/deflate.h"
#include "wire/ws_frame.h"

namespace seedance::wire {

// Shared by all connections of an owner and outlives them.
struct WsLimits {
  std::size_t message_bytes_max = std::size_t{1} << 20;
  std::uint32_t fragments_max = 1024;                   // Of one message, empty ones too.
  std::uint32_t controls_max = 100;                     // Pings and pongs received ...
  Duration controls_window = std::chrono::seconds{1};   // ... in such a time.
  Duration message_timeout = std::chrono::seconds{60};  // From a message's first byte to its last.
  Duration ping_after = std::chrono::seconds{15};       // Nothing received for so long.
  Duration dead_after = std::chrono::seconds{30};       // Likewise.
  Duration close_timeout = std::chrono::seconds{5};     // From our Close to the end.
};

// Reasons of a Close that owners tell apart.
inline constexpr const char* kTooManyPings = "too many pings in a second";
inline constexpr const char* kNotInTime = "message not finished in time";

enum class WsRole : std::uint8_t { server, client };

// A whole message. `payload` is valid until the next call on the connection.
struct WsMessage {
  enum class Kind : std::uint8_t { text, binary };

  Kind kind = Kind::text;
  Bytes payload;

  std::string_view text() const { return as_text(payload); }
};

// The last event. The code is the peer's (1005 if it gave none) or the one that
// we refused its bytes with; 1006 if it went silent or away. `reason` is valid
// until the next call.
struct WsClosed {
  std::uint16_t code = 0;
  std::string_view reason;
};

using WsEvent = std::variant<WsMessage, WsClosed>;

// The protocol of one connection: takes bytes and time, gives messages, and
// writes the control frames (pong, ping, close) that it owes. Data frames are
// not queued here: the owner renders them itself with append_frame_header().
// Belongs to one thread. Idle, it holds no memory but its own.
//
// The owner's protocol:
// - Read: on_input(bytes), then next() until it gives nothing. Only then may the
//   bytes be reused; they are unmasked in place. The same after on_eof(),
//   on_time() and close().
// - Write, in this order: the rest of a data frame that the socket took in part;
//   then output() until it is empty; then, while may_send_data(), new data
//   frames. So no control frame lands inside a data frame, and nothing at all
//   behind a Close.
// - Time: on_time(now) no later than deadline().
// - End: when finished(), close the socket. When half_closed(), shut down its
//   sending side and go on reading, so that the peer gets our Close, not a reset.
class WsConnection {
 public:
  // `mask_seed` keys a client's masks and comes from a secure generator.
  WsConnection(const WsLimits& limits, WsRole role, TimePoint now, std::uint64_t mask_seed = 0);
  ~WsConnection();

  // Messages may come compressed: the extension was agreed on, before any input.
  // The inflater is shared by whatever belongs to this thread, and outlives this.
  void allow_compression(Inflater& inflater) { inflater_ = &inflater; }

  WsConnection(const WsConnection&) = delete;
  WsConnection& operator=(const WsConnection&) = delete;

  // The bytes before are used up: next() gave nothing.
  void on_input(std::span<std::byte> input, TimePoint now);

  // The peer shut down its sending side, or the socket failed.
  void on_eof();

  // The socket takes no more; takes some again. In between the heartbeat rests, whose
  // ping could not get through: how long that may last is the owner's to say.
  void on_blocked();
  void on_unblocked(TimePoint now);

  void on_time(TimePoint now);

  // The last message was a ping of the owner's protocol, which counts among the control
  // frames. False when they are too many: the peer is refused.
  bool count_ping();

  // Begins the closing handshake; does nothing when it has begun. `code` is one
  // that may be sent; `reason` is cut to what a Close frame holds.
  void close(CloseCode code, std::string_view reason, TimePoint now);

  // Messages in their order and at last one WsClosed; nothing when the input is
  // used up.
  std::optional<WsEvent> next();

  // What next() has not used yet, which may be given again by on_input() later; the
  // connection forgets it. Valid as long as the input.
  std::span<std::byte> take_input() { return std::exchange(input_, {}); }
  bool has_input() const { return !input_.empty(); }

  // Control frames to be sent now; output_sent() says how many bytes of them
  // were. At most 512 bytes; when more pongs are due than fit, the last of them is
  // sent instead of those before it (5.5.3).
  std::string_view output() const { return output_; }
  void output_sent(std::size_t count);

  bool may_send_data() const { return phase_ == Phase::open; }
  bool half_closed() const { return phase_ == Phase::refused && output_.empty(); }
  bool finished() const;

  TimePoint deadline() const;

 private:
  struct Inbox;
  enum class Phase : std::uint8_t {
    open,
    closing,  // Our Close is queued or sent; the peer's is awaited.
    closed,   // Both are done; ours may have to be sent yet.
    refused,  // The peer broke a rule: our Close says so, its bytes are dropped.
    dropped,  // Nothing more is sent or read.
  };

  bool reads() const { return phase_ == Phase::open || phase_ == Phase::closing; }
  bool in_message() const;
  TimePoint finish_by() const;
  std::optional<FrameHeader> next_header();
  bool check_header(const FrameHeader& header);
  std::optional<WsEvent> read_payload(FrameHeader header);
  std::optional<WsEvent> on_data(const FrameHeader& header, Bytes piece, bool frame_ends);
  std::optional<WsEvent> on_control(Opcode opcode, Bytes payload);
  std::optional<WsEvent> on_close(Bytes payload);
  std::optional<WsEvent> inflated(WsMessage::Kind kind, Bytes payload);
  std::optional<WsEvent> message(WsMessage::Kind kind, Bytes payload) const;
  Inbox& inbox();
  void refuse(CloseCode code, const char* why);
  void drop(CloseCode code, const char* why);
  void queue_frame(Opcode opcode, std::string_view payload);
  void queue_pong(Bytes payload);
  void queue_close(std::uint16_t code, std::string_view reason);

  // What deadline() needs comes first.
  const WsLimits* limits_;
  std::unique_ptr<Inbox> inbox_;  // Only while a frame or message is unfinished.
  std::string output_;
  TimePoint heard_at_;
  WsRole role_;
  Phase phase_ = Phase::open;
  bool pinged_ = false;
  bool blocked_ = false;
  std::uint16_t closed_code_ = 0;  // A WsClosed is due when not 0.
  Inflater* inflater_ = nullptr;   // Null: no message may be compressed.
  std::span<std::byte> input_;     // What next() has not used yet.
  TimePoint now_;                  // Of the last event.
  TimePoint window_began_at_;      // See controls_max.
  TimePoint close_by_ = kNever;
  std::uint64_t mask_seed_;
  const char* why_ = "";  // Reason of a WsClosed that is due.
  std::uint32_t masks_used_ = 0;
  std::uint32_t controls_ = 0;    // In the window.
  std::uint16_t pong_at_ = 0;     // Where in output_ a pong is that may still be replaced ...
  std::uint16_t pong_bytes_ = 0;  // ... and its size, 0 when there is none.
};

}  // namespace seedance::wire
