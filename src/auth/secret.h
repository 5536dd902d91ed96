// What is kept of a secret, and how secrets are made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace seedance::auth {

// SHA-256. That of a random secret of 256 bits tells nothing about it.
using SecretHash = std::array<std::uint8_t, 32>;

SecretHash hash_of(std::string_view secret);

// A short name for it, by which nobody comes in.
std::uint64_t mark_of(const SecretHash& hash);

// In a time that does not depend on what they are.
bool same(const SecretHash& one, const SecretHash& other);

// 64 digits in lower case; nothing for any other text.
std::string to_hex(const SecretHash& hash);
std::optional<SecretHash> parse_hex(std::string_view text);

// `prefix` and 256 bits of the secure generator, in characters that may stand in
// a header, a URL and the name of a subprotocol.
std::string make_secret(std::string_view prefix);

inline constexpr std::string_view kKeyPrefix = "sk-sd-";
inline constexpr std::string_view kTicketPrefix = "tk_";

// RFC 4648 section 5, without padding. Nothing for what no encoder writes.
std::string to_base64url(std::span<const std::uint8_t> bytes);
std::optional<std::string> parse_base64url(std::string_view text);

}  // namespace seedance::auth
