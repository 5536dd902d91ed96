// The binary chunk frame of subprotocol seedance.v2+binary; every byte is in
// docs/formats/protocol.md. Network byte order:
//
//   0  u16 magic 0x464D ("FM")   8  u32 seq, offset of the first token
//   2  u8  version 2             12 u32 payload length
//   3  u8  flags                 16 payload: u16 n, n × i32 ids if flagged,
//   4  u32 channel                  n × f32 logprobs if flagged, UTF-8 text
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"

namespace seedance::wire {

inline constexpr std::uint16_t kFmMagic = 0x464D;
inline constexpr std::uint8_t kFmVersion = 2;
inline constexpr std::size_t kFmHeaderBytes = 16;

// What the sender says beside the tokens. The flags for ids and logprobs follow
// from whether there are any.
struct FmMarks {
  bool final = false;
  bool usage = false;  // A JSON text frame with the usage comes next.
  bool error = false;

  friend bool operator==(FmMarks, FmMarks) = default;
};

// Borrows everything, so that encoding allocates nothing.
struct FmChunk {
  std::uint32_t channel = 0;
  std::uint32_t seq = 0;
  std::uint16_t tokens = 0;  // n: how many tokens the chunk stands for.
  FmMarks marks{};
  std::span<const TokenId> ids{};     // None, or n.
  std::span<const float> logprobs{};  // None, or n.
  std::string_view text{};            // UTF-8.
};

// What append_fm() appends: header and payload.
std::size_t fm_bytes(const FmChunk& chunk);
void append_fm(std::string& out, const FmChunk& chunk);

struct FmFrame {
  std::uint32_t channel = 0;
  std::uint32_t seq = 0;
  std::uint16_t tokens = 0;
  FmMarks marks{};
  std::vector<TokenId> ids{};
  std::vector<float> logprobs{};
  std::string text{};
};

// `bytes` are exactly one frame. Errors: truncated (it is longer than what is
// there), corrupt (it can never be a frame).
Result<FmFrame> decode_fm(Bytes bytes);

}  // namespace seedance::wire
