// The file of API keys: docs/access.md has its format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/principal.h"
#include "auth/secret.h"
#include "base/result.h"

namespace seedance::auth {

inline constexpr std::size_t kKeyFileBytesMax = std::size_t{16} << 20;

// A key: everything but itself.
struct KeyEntry {
  std::string name;
  std::string tenant;
  Role role = Role::user;
  SecretHash hash{};
  std::string created;  // RFC 3339, for people.

  friend bool operator==(const KeyEntry&, const KeyEntry&) = default;
};

// In the order of the file. Errors are `invalid` and one line that begins with
// `file` and the line's number; they hold no hash.
Result<std::vector<KeyEntry>> parse_key_file(std::string_view text, std::string_view file);

// The line of the file, without its end.
std::string to_line(const KeyEntry& entry);

// `text` with the entry behind it, or without the line of the key of that name;
// everything else stays as somebody wrote it. The text is one that parses.
std::string with_key(std::string_view text, const KeyEntry& entry);
std::string without_key(std::string_view text, std::string_view name);

// What a key may be called: a line that begins with # is a comment.
bool is_key_name(std::string_view text);

// A name for another key of the tenant: "acme-1", or the next number that is free. Without
// the tenant's leading #s, if there are any.
std::string free_name(const std::vector<KeyEntry>& keys, std::string_view tenant);

}  // namespace seedance::auth
