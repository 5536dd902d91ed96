// Why somebody does not come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seedance::auth {

enum class Refusal : std::uint8_t {
  host,           // A name that this server does not answer to.
  origin,         // A page of another site.
  no_credential,  // Nothing was sent that could be a key.
  wrong_key,
  wrong_ticket,  // Unknown, used, or too old.
  token_too_long,
  token_malformed,
  token_algorithm,  // Not the one that the settings name.
  token_signature,
  token_no_expiry,  // It does not say when it expires.
  token_expired,
  token_not_yet,  // Valid later.
  token_audience,
  token_issuer,
  token_tenant,  // It names none.
  role,          // Known, but no admin.
  revoked,       // Came in, and would not now.
};

inline constexpr std::size_t kRefusalCount = 17;

// As metrics and audit log have it: "wrong_key".
std::string_view name(Refusal refusal);

}  // namespace seedance::auth
