// The file of API keys, as `seedance keys` changes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/key_file.h"
#include "base/result.h"
#include "base/time.h"

namespace seedance::apps {

// A key that nobody has yet. The name is made from the tenant when it is empty.
struct NewKey {
  std::string name;
  std::string tenant;
  auth::Role role = auth::Role::user;
};

struct AddedKey {
  std::string name;
  std::string secret;  // The key itself. It is kept nowhere else.
};

// Both put a whole new file in the place of the old one, for its owner only, or
// leave it as it is. Meanwhile they hold a lock (`path` and ".lock") and wait for
// whoever has it. Errors name the file; not_found: no key has the name.
Result<AddedKey> add_key(const std::string& path, const NewKey& key, WallTime now);
Result<void> revoke_key(const std::string& path, std::string_view name);

// What a person may see of them: no hash in full.
std::string list_text(const std::vector<auth::KeyEntry>& keys);
std::string list_json(const std::vector<auth::KeyEntry>& keys);

// A missing file is an error: not_found.
Result<std::vector<auth::KeyEntry>> read_keys(const std::string& path);

// Whether others than its owner may read or change the file. False when there is none.
bool is_open_to_others(const std::string& path);

}  // namespace seedance::apps
