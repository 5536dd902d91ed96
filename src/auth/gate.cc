#include "auth/gate.h"

namespace seedance::auth {
namespace {

// Another for rules by which another token would hold.
std::uint64_t mark_of(const TokenRules& rules) {
  std::string text;
  text += rules.key.algorithm == TokenKey::Algorithm::hs256 ? 'h' : 'e';
  for (const std::string& part : {rules.key.bytes, rules.audience, rules.issuer}) {
    text += std::to_string(part.size()) + ":" + part;
  }
  return auth::mark_of(hash_of(text));
}

}  // namespace

std::optional<Principal> Gate::admit_certificate(std::string_view common_name) const {
  if (!certificates_ || !is_name(common_name)) return std::nullopt;
  return Principal{.tenant = std::string{common_name},
                   .role = Role::user,
                   .proof = Proof::certificate,
                   .key = {}};
}

Gate::Gate(const GateRules& rules)
    : closed_(rules.closed()), certificates_(rules.certificates), tokens_(rules.tokens) {
  for (const std::string& key : rules.plain_keys) keys_.add(hash_of(key), anybody());
  if (tokens_) token_mark_ = mark_of(*tokens_);
  if (!rules.keys) return;
  for (const KeyEntry& entry : *rules.keys) {
    keys_.add(entry.hash, {.tenant = entry.tenant, .role = entry.role, .key = entry.name});
  }
}

std::expected<Principal, Refusal> Gate::admit(std::string_view credential, WallTime now) const {
  if (!closed_) return anybody();
  if (credential.empty()) return std::unexpected(Refusal::no_credential);
  if (const Principal* principal = keys_.find(credential)) return *principal;
  if (!tokens_ || !looks_like_token(credential)) return std::unexpected(Refusal::wrong_key);
  auto principal = check_token(*tokens_, credential, now);
  if (principal) principal->mark = token_mark_;
  return principal;
}

bool Gate::still_admits(const Principal& principal, WallTime now) const {
  if (!closed_) return true;
  switch (principal.proof) {
    case Proof::none:
      return false;
    case Proof::key: {
      const Principal* known = keys_.find_mark(principal.mark);
      return known != nullptr && known->tenant == principal.tenant && known->role == principal.role;
    }
    case Proof::token:
      return tokens_ && token_mark_ == principal.mark && now < principal.until;
    case Proof::certificate:
      return certificates_;
  }
  return false;
}

}  // namespace seedance::auth
