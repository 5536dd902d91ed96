// WebSocket framing (RFC 6455 section 5): headers and masks, no state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace seedance::wire {

enum class Opcode : std::uint8_t {
  continuation = 0x0,
  text = 0x1,
  binary = 0x2,
  close = 0x8,
  ping = 0x9,
  pong = 0xA,
};

constexpr bool is_control(Opcode opcode) {
  return (static_cast<unsigned>(opcode) & 0x8U) != 0;
}

// Whether a frame ends its message.
enum class Fin : std::uint8_t { no, yes };

// RSV1 of a message's first frame (RFC 7692), or whether it may be set.
enum class Compressed : std::uint8_t { no, yes };

// Status codes of section 7.4 and of the IANA registry, as far as we say them.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  no_status = 1005,  // Never sent: the peer's Close held no code.
  abnormal = 1006,   // Never sent: the peer is gone without a Close.
  bad_payload = 1007,
  policy = 1008,
  too_big = 1009,
  internal_error = 1011,
  restart = 1012,
  overloaded = 1013,
};

// Whether a peer may put this code into a Close frame.
bool is_sendable_close_code(std::uint16_t code);

inline constexpr std::size_t kFrameHeaderMax = 14;
inline constexpr std::size_t kControlPayloadMax = 125;

using MaskKey = std::array<std::byte, 4>;

struct FrameHeader {
  std::uint8_t header_bytes = 0;  // How many bytes this header is in the input.
  Opcode opcode = Opcode::continuation;
  Fin fin = Fin::yes;
  std::optional<MaskKey> mask;
  std::uint64_t payload_bytes = 0;
  Compressed compressed = Compressed::no;

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

enum class FrameStatus : std::uint8_t {
  whole,      // `header` is filled.
  need_more,  // So far nothing is wrong.
  malformed,  // Reserved bits or opcode, a long or fragmented control frame, a
              // length that is not the shortest form or has its top bit set.
};

struct DecodedHeader {
  FrameStatus status = FrameStatus::need_more;
  FrameHeader header;
};

// Reads the header at the beginning of `input`. `allowed` are compressed messages
// where the extension was agreed on: otherwise RSV1 is a reserved bit, too.
DecodedHeader decode_frame_header(Bytes input, Compressed allowed = Compressed::no);

// Writes the header of an unmasked frame (what a server sends) to where there is room for
// kFrameHeaderMax bytes. Gives its size.
std::size_t write_frame_header(char* to, Opcode opcode, Fin fin, std::size_t payload_bytes,
                               Compressed compressed = Compressed::no);

// Appends one; the caller appends the payload.
void append_frame_header(std::string& out, Opcode opcode, Fin fin, std::size_t payload_bytes,
                         Compressed compressed = Compressed::no);

// Appends a whole frame as a client must send it, masked. The key comes from a
// secure generator (section 5.3).
void append_masked_frame(std::string& out, Opcode opcode, Fin fin, std::string_view payload,
                         MaskKey mask, Compressed compressed = Compressed::no);

// Masks or unmasks in place; `offset` is the position of `payload` in its frame.
void apply_mask(std::span<std::byte> payload, MaskKey mask, std::uint64_t offset);

}  // namespace seedance::wire
