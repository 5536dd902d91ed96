// API keys.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seedance::auth {

// The keys that open this server. Keeps only their SHA-256, and compares those
// in a time that depends on nothing but their number, so that a wrong key tells
// nothing about a right one. A value; any thread may ask it.
class KeyRing {
 public:
  explicit KeyRing(std::span<const std::string> keys);

  // Without keys everybody is admitted.
  bool admits(std::string_view key) const;
  bool asks_for_key() const { return !hashes_.empty(); }

 private:
  using Hash = std::array<std::uint8_t, 32>;

  static Hash hash(std::string_view key);

  std::vector<Hash> hashes_;
};

// The token of an Authorization header (RFC 6750); empty when it has none.
std::string_view bearer_token(std::string_view authorization);

// Browsers cannot set headers on a WebSocket, so a key may stand among the
// offered subprotocols, as this and the key. It is never chosen.
inline constexpr std::string_view kKeySubprotocol = "seedance.key.";

// The key in a Sec-WebSocket-Protocol header; empty when it has none.
std::string_view subprotocol_key(std::string_view offered);

}  // namespace seedance::auth
