// The protocols that a load can be sent over.
#pragma once

#include <cstdint>
#include <string_view>

namespace seedance::loadgen {

enum class Api : std::uint8_t {
  native,       // WebSocket, subprotocol seedance.v2+json.
  binary,       // The same, seedance.v2+binary.
  chat,         // POST chat/completions, streamed as server-sent events.
  completions,  // POST completions, likewise.
};

constexpr std::string_view name(Api api) {
  switch (api) {
    case Api::native:
      return "native";
    case Api::binary:
      return "binary";
    case Api::chat:
      return "chat";
    case Api::completions:
      break;
  }
  return "completions";
}

// Many streams share a connection.
constexpr bool is_websocket(Api api) {
  return api == Api::native || api == Api::binary;
}

}  // namespace seedance::loadgen
