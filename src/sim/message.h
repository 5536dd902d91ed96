// What the server says to a native client, read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"

namespace seedance::sim {

// One message of any type: fields that it does not have are as they are here.
struct ServerMessage {
  std::string type;
  std::string id;
  std::optional<StreamId> stream = {};
  Epoch epoch{};
  std::uint32_t channel = 0;
  bool attached = false;
  std::uint64_t seq = 0;
  std::uint64_t n = 0;
  std::string text = {};
  std::vector<TokenId> tokens = {};
  std::uint64_t from = 0;
  std::uint64_t head = 0;
  std::string state = {};
  std::string finish_reason = {};
  std::string sha256 = {};
  std::uint64_t completion_tokens = 0;
  std::string code = {};  // Of an ERROR, or of the error of an INFER_DONE.
  std::string message = {};
  std::uint64_t numbers_epoch = 0;   // Of an ERROR's numbers.
  std::uint64_t retry_after_ms = 0;  // Likewise.
};

// A text frame's payload.
Result<ServerMessage> parse_server_message(std::string_view json);

// A binary frame's: an INFER_CHUNK with a channel and no id, or nothing if it only
// announces the end.
Result<std::optional<ServerMessage>> parse_server_frame(std::string_view bytes);

}  // namespace seedance::sim
