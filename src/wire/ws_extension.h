// What a client offers in Sec-WebSocket-Extensions (RFC 6455 section 9.1), and
// what we take of it: permessage-deflate (RFC 7692).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "wire/http.h"

namespace seedance::wire {

// What both sides agreed on. That neither keeps anything from one message to the
// next always belongs to it: an idle connection then holds no compressor.
struct WsDeflate {
  std::uint8_t server_window_bits = 15;  // Of what we send.
  bool says_server_bits = false;         // The client asked for them.
  // Of what the client sends, where it offered a number. We can read any.
  std::optional<std::uint8_t> client_window_bits;

  friend bool operator==(const WsDeflate&, const WsDeflate&) = default;
};

// The first offer that can be taken, or nothing; 400 if the header is malformed.
std::expected<std::optional<WsDeflate>, HttpError> choose_deflate(const HttpRequest& request);

// The value of our Sec-WebSocket-Extensions.
std::string deflate_answer(const WsDeflate& agreed);

// A character of what RFC 9110 calls a token.
bool is_token_char(char c);

}  // namespace seedance::wire
