// Who may come in.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.h"
#include "auth/key_file.h"
#include "auth/keys.h"
#include "auth/principal.h"
#include "auth/refusal.h"
#include "base/time.h"

namespace seedance::auth {

// What the settings say about it. With nothing set, everybody comes in.
struct GateRules {
  std::vector<std::string> plain_keys = {};  // Each is of the tenant "local", and of an admin.
  std::optional<std::vector<KeyEntry>> keys = {};  // Of the file of keys, if there is one.
  std::optional<TokenRules> tokens = {};
  bool certificates = false;  // A client's certificate, which TLS has verified, is one, too.

  // Whether a credential is asked for. So it is by a file that holds no key: whoever
  // revokes the last one closes the server.
  bool closed() const { return !plain_keys.empty() || keys || tokens || certificates; }
};

// A value; any thread may ask it.
class Gate {
 public:
  explicit Gate(const GateRules& rules = {});

  bool closed() const { return closed_; }
  std::size_t key_count() const { return keys_.size(); }

  // Who comes in with a certificate of this common name, when certificates count:
  // a user of the tenant of that name. Nobody when it cannot name one.
  std::optional<Principal> admit_certificate(std::string_view common_name) const;

  // Who comes in with this key or token. `now` is what tokens are checked against.
  std::expected<Principal, Refusal> admit(std::string_view credential, WallTime now) const;

  // Whether whoever came in so, by this gate or the one before it, would come in now as
  // the same one: the key is there and has that tenant and role, the token holds.
  bool still_admits(const Principal& principal, WallTime now) const;

 private:
  bool closed_;
  bool certificates_;
  KeyTable keys_;
  std::optional<TokenRules> tokens_;
  std::uint64_t token_mark_ = 0;
};

}  // namespace seedance::auth
