#include "auth/refusal.h"

#include <array>

namespace seedance::auth {

std::string_view name(Refusal refusal) {
  constexpr std::array<std::string_view, kRefusalCount> kNames{
      "host",           "origin",          "no_credential",   "wrong_key",       "wrong_ticket",
      "token_too_long", "token_malformed", "token_algorithm", "token_signature", "token_no_expiry",
      "token_expired",  "token_not_yet",   "token_audience",  "token_issuer",    "token_tenant",
      "role",           "revoked"};
  return kNames.at(static_cast<std::size_t>(refusal));
}

}  // namespace seedance::auth
