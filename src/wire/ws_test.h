// What tests of WsConnection share.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "wire/ws_connection.h"
#include "wire/ws_frame.h"

namespace seedance::wire {

inline constexpr MaskKey kMask{std::byte{0xA1}, std::byte{0x02}, std::byte{0xFF}, std::byte{0x5C}};
inline constexpr TimePoint kStart{std::chrono::hours{1}};

// A frame of a client.
inline std::string frame(Opcode opcode, std::string_view payload, Fin fin = Fin::yes) {
  std::string out;
  append_masked_frame(out, opcode, fin, payload, kMask);
  return out;
}

// A frame of a server.
inline std::string plain(Opcode opcode, std::string_view payload, Fin fin = Fin::yes) {
  std::string out;
  append_frame_header(out, opcode, fin, payload.size());
  return out += payload;
}

inline std::string close_payload(std::uint16_t code, std::string_view reason = {}) {
  std::string out;
  append(out, code, std::endian::big);
  return out += reason;
}

inline std::string show(const WsEvent& event) {
  if (const auto* message = std::get_if<WsMessage>(&event)) {
    return (message->kind == WsMessage::Kind::text ? "text " : "binary ") +
           std::string{message->text()};
  }
  const auto& closed = std::get<WsClosed>(event);
  return "closed " + std::to_string(closed.code) +
         (closed.reason.empty() ? "" : " " + std::string{closed.reason});
}

using Events = std::vector<std::string>;

// Gives `bytes` to the connection and overwrites them afterwards: whoever kept
// a pointer into them is found out.
inline Events feed(WsConnection& connection, std::string bytes, TimePoint now = kStart) {
  Events events;
  connection.on_input(std::as_writable_bytes(std::span{bytes}), now);
  while (const auto event = connection.next()) events.push_back(show(*event));
  std::ranges::fill(bytes, '#');
  return events;
}

inline Events drain(WsConnection& connection) {
  return feed(connection, {});
}

// All output, as if the socket took it.
inline std::string flush(WsConnection& connection) {
  std::string sent{connection.output()};
  connection.output_sent(sent.size());
  return sent;
}

struct Server : WsConnection {
  explicit Server(const WsLimits& l = default_limits()) : WsConnection(l, WsRole::server, kStart) {}
  static const WsLimits& default_limits() {
    static const WsLimits kLimits;
    return kLimits;
  }
};

// The Close frame that ends an output, as "code reason".
inline std::string close_in(const std::string& output) {
  const std::size_t at = output.find('\x88');
  if (at == std::string::npos) return "none";
  if (output.at(at + 1) == 0) return "empty";
  const auto code = load<std::uint16_t>(as_bytes(output).data() + at + 2, std::endian::big);
  return std::to_string(code) + " " + output.substr(at + 4);
}

}  // namespace seedance::wire
