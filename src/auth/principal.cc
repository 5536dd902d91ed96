#include "auth/principal.h"

#include <algorithm>

namespace seedance::auth {

std::string_view name(Role role) {
  return role == Role::admin ? "admin" : "user";
}

std::optional<Role> parse_role(std::string_view text) {
  if (text == name(Role::user)) return Role::user;
  if (text == name(Role::admin)) return Role::admin;
  return std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace seedance::auth
