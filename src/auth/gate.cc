#include "auth/gate.h"

namespace seedance::auth {

std::optional<Principal> Gate::admit_certificate(std::string_view common_name) const {
  if (!certificates_ || !is_name(common_name)) return std::nullopt;
  return Principal{.tenant = std::string{common_name}, .role = Role::user, .key = {}};
}

Gate::Gate(const GateRules& rules)
    : closed_(rules.closed()), certificates_(rules.certificates), tokens_(rules.tokens) {
  for (const std::string& key : rules.plain_keys) keys_.add(hash_of(key), anybody());
  if (!rules.keys) return;
  for (const KeyEntry& entry : *rules.keys) {
    keys_.add(entry.hash, {.tenant = entry.tenant, .role = entry.role, .key = entry.name});
  }
}

std::expected<Principal, Refusal> Gate::admit(std::string_view credential, WallTime now) const {
  if (!closed_) return anybody();
  if (credential.empty()) return std::unexpected(Refusal::no_credential);
  if (const Principal* principal = keys_.find(credential)) return *principal;
  if (tokens_ && looks_like_token(credential)) return check_token(*tokens_, credential, now);
  return std::unexpected(Refusal::wrong_key);
}

}  // namespace seedance::auth
