// The JSON of native messages about one stream, and the frame around it. For the
// views of this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/native.h"
#include "base/id.h"
#include "core/messages.h"
#include "stream/token_log.h"
#include "wire/ws_frame.h"

namespace seedance::api {

// Appends one WebSocket frame: construct, append the payload to `out`, close().
class FrameWriter {
 public:
  FrameWriter(std::string& out, wire::Opcode opcode);

  void close();

 private:
  static constexpr std::size_t kRoom = 2;  // Left for the header: most need no more.

  std::string& out_;
  std::size_t begin_;
  wire::Opcode opcode_;
};

// Who is told: a client that has names for its streams, or only one stream.
struct Addressee {
  std::string_view id = {};  // Left out when empty.
  std::optional<std::uint32_t> channel = {};
};

// Each appends one JSON object. `json_id` is what stands between the quotes.
void append_chunk_json(std::string& out, std::string_view json_id, ChunkExtras with,
                       const stream::TokenLog& log, Offset from, Offset to);
void append_done_json(std::string& out, std::string_view id, const stream::TokenLog& log);
void append_resumed_json(std::string& out, const Addressee& to, const core::Resumed& resumed);

// About what the token takes in a chunk beside its text.
std::size_t chunk_token_bytes(ChunkExtras with, const stream::TokenLog& log, Offset at);

}  // namespace seedance::api
