// Who somebody is, once they came in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace seedance::auth {

enum class Role : std::uint8_t {
  user,
  admin,  // Also sees the metrics, and whatever else is about the whole server.
};

std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view text);

// By what one came in.
enum class Proof : std::uint8_t { none, key, token, certificate };

// Whose streams one sees, and what one may do beside.
struct Principal {
  std::string tenant = "local";
  Role role = Role::user;
  Proof proof = Proof::none;
  std::string key = {};              // Name of the key, for people; empty for tokens.
  std::uint64_t mark = 0;            // Of the key, or of the rules that the token was checked by.
  WallTime until = WallTime::max();  // When the token holds no more.

  // The same one, by whatever he came in.
  friend bool operator==(const Principal& a, const Principal& b) {
    return a.tenant == b.tenant && a.role == b.role && a.key == b.key;
  }
};

// Where nothing is asked for, everybody is the one who started the server.
inline Principal anybody() {
  return {.tenant = "local", .role = Role::admin, .key = {}};
}

inline constexpr std::size_t kNameBytesMax = 128;

// Whether it can name a tenant or a key: 1 to 128 characters of visible ASCII.
bool is_name(std::string_view text);

}  // namespace seedance::auth
