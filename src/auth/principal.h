// Who somebody is, once they came in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seedance::auth {

enum class Role : std::uint8_t {
  user,
  admin,  // Also sees the metrics, and whatever else is about the whole server.
};

std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view text);

// Whose streams one sees, and what one may do beside.
struct Principal {
  std::string tenant = "local";
  Role role = Role::user;
  std::string key = {};  // Name of the key, for people; empty for tokens.

  friend bool operator==(const Principal&, const Principal&) = default;
};

// Where nothing is asked for, everybody is the one who started the server.
inline Principal anybody() {
  return {.tenant = "local", .role = Role::admin, .key = {}};
}

inline constexpr std::size_t kNameBytesMax = 128;

// Whether it can name a tenant or a key: 1 to 128 characters of visible ASCII.
bool is_name(std::string_view text);

}  // namespace seedance::auth
