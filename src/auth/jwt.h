// Signed tokens of somebody else's making: JSON Web Tokens (RFC 7519) as JWS in
// compact form (RFC 7515).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "auth/principal.h"
#include "auth/refusal.h"
#include "base/result.h"
#include "base/time.h"

namespace seedance::auth {

inline constexpr std::size_t kTokenBytesMax = 8192;
// How far the clock of whoever signs may be from ours.
inline constexpr Duration kTokenLeeway = std::chrono::seconds{60};

// With which key tokens are checked, and so by which algorithm. A token's own
// word on that counts only as something more to check.
struct TokenKey {
  enum class Algorithm : std::uint8_t { hs256, eddsa };

  Algorithm algorithm = Algorithm::hs256;
  std::string bytes;  // The secret, or the 32 bytes of an Ed25519 public key.

  friend bool operator==(const TokenKey&, const TokenKey&) = default;
};

// The secret that a file holds, without the end of its line. Invalid when it is
// shorter than the 32 bytes that HS256 demands (RFC 7518, section 3.2), or a
// public key, which is nothing secret.
Result<TokenKey> secret_key(std::string_view file);

// The Ed25519 public key of a PEM file ("BEGIN PUBLIC KEY"). Invalid for whatever
// else stands in it.
Result<TokenKey> public_key(std::string_view pem);

struct TokenRules {
  TokenKey key;
  std::string audience;  // Empty: tokens for an audience are refused, others pass.
  std::string issuer;    // Empty: any.
};

// Whether it has the three parts of a token, so that it is worth checking as one.
bool looks_like_token(std::string_view text);

// Who the token says it is, and until when that holds, the leeway included, when the signature is
// right, `now` is between its times, and it is for this audience and from this issuer. Tenant is
// the claim "tenant", else "sub"; an admin has the claim "role": "admin".
std::expected<Principal, Refusal> check_token(const TokenRules& rules, std::string_view token,
                                              WallTime now);

}  // namespace seedance::auth
