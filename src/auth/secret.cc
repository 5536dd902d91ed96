#include "auth/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <cstring>

#include "base/check.h"

namespace seedance::auth {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

SecretHash hash_of(std::string_view secret) {
  SecretHash hash;
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), hash.data());
  return hash;
}

std::uint64_t mark_of(const SecretHash& hash) {
  std::uint64_t mark = 0;
  std::memcpy(&mark, hash.data(), sizeof(mark));
  return mark;
}

bool same(const SecretHash& one, const SecretHash& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string to_hex(const SecretHash& hash) {
  std::string out;
  for (const std::uint8_t byte : hash) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::optional<SecretHash> parse_hex(std::string_view text) {
  SecretHash hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kHex.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    hash.at(i / 2) = static_cast<std::uint8_t>(std::size_t{hash.at(i / 2)} << 4 | digit);
  }
  return hash;
}

std::string make_secret(std::string_view prefix) {
  std::array<std::uint8_t, 32> bytes{};
  SEEDANCE_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
                 "the secure generator gives bytes");
  return std::string{prefix} + to_base64url(bytes);
}

std::string to_base64url(std::span<const std::uint8_t> bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;  // Of the bits that are not written yet.
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) out += kBase64[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kBase64[bits << (6 - count) & 63];
  return out;
}

std::optional<std::string> parse_base64url(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(static_cast<std::uint8_t>(bits >> count));
  }
  // A digit too many, or bits that no byte has: there is one text for each bytes.
  if (count >= 6 || (bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace seedance::auth
