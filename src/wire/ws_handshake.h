// The opening handshake of a WebSocket (RFC 6455 section 4), both sides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/http.h"
#include "wire/ws_extension.h"

namespace seedance::wire {

// Whether the request asks for a WebSocket at all. If so, on a route that is
// one, check_upgrade() decides.
bool wants_websocket(const HttpRequest& request);

// What a server agrees to.
struct WsUpgrade {
  std::string accept;         // Sec-WebSocket-Accept.
  std::string_view protocol;  // One of those supported, or empty.
  std::optional<WsDeflate> deflate;
};

// Whether permessage-deflate is agreed to when a client offers it. Off, other
// extensions are not looked at either: we know no other.
enum class Compression : std::uint8_t { off, on };

// `supported` are the server's subprotocols; the first one that the client
// offers is chosen, in the client's order, and the result borrows from
// `supported`: nothing of what the client sent is ever echoed. Refusals: 400,
// or 426, whose answer has the header "Sec-WebSocket-Version: 13".
std::expected<WsUpgrade, HttpError> check_upgrade(const HttpRequest& request,
                                                  std::span<const std::string_view> supported,
                                                  Compression compression = Compression::off);

// Appends the 101 response.
void append_upgrade_response(std::string& out, const WsUpgrade& upgrade);

// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string accept_key(std::string_view key);

// Sec-WebSocket-Key from 16 fresh bytes of a secure generator.
std::string make_key(const std::array<std::uint8_t, 16>& entropy);

struct WsClientRequest {
  std::string_view host;        // With the port.
  std::string_view target;      // Path and query.
  std::string_view key;         // From make_key().
  std::string_view protocol{};  // Empty: none is offered.
  std::initializer_list<HttpField> headers{};
};

void append_upgrade_request(std::string& out, const WsClientRequest& request);

struct WsClientUpgrade {
  std::size_t head_bytes = 0;  // Frames begin behind them.
  std::string protocol;        // What the server chose; empty for none.
};

// Reads a server's answer to a request with this key and protocol. Errors:
// truncated (give it more), invalid (`detail` has the status line or the rule
// broken).
Result<WsClientUpgrade> check_upgrade_response(Bytes input, std::string_view key,
                                               std::string_view protocol);

}  // namespace seedance::wire
