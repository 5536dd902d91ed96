// Settings from the file, the environment and the flags; later ones win.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace seedance::config {

inline constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

// A YAML file (its name is for messages) that has been read.
struct File {
  std::string name;
  std::string text;
};

// NAME and value of every variable of the environment.
using Variables = std::vector<std::pair<std::string, std::string>>;

struct Sources {
  std::optional<File> file = {};
  // Only SEEDANCE_* are looked at.
  Variables environment = {};
  // Flag (with its dashes) and values, one for each time it was given.
  std::vector<std::pair<std::string, std::vector<std::string>>> flags = {};
};

// Defaults, then the file, the environment, the flags. The first mistake fails
// it as `invalid`, with one line that names the place (file:line, variable or
// flag), the key, what is wrong and what would be right. Nothing throws.
//
// A key of the file that does not exist is a mistake. A variable that does not
// exist is one only when it looks like a slip of the pen, since platforms set
// variables named after services (SEEDANCE_SERVICE_HOST, for one).
Result<Settings> load(const Sources& sources);

// A sentence for each SEEDANCE_* that is no setting and that load() does not mind, with the
// nearest one that there is. Not for what Kubernetes sets for a service of that name, nor
// for what building and testing Seedance goes by.
std::vector<std::string> unknown_variables(const Variables& environment);

// The file that `seedance init` writes: every key with its help, its range and
// the value that it has in `settings`. load() of it gives `settings` back.
std::string commented_file(const Settings& settings);

// The key that `wrong` was probably meant to be; empty when none is near. Knows
// the names of flags too, so that `port` leads to `websocket_port`.
std::string_view nearest_key(std::string_view wrong);

// SEEDANCE_MODEL_PATH for `model_path`.
std::string variable_of(const Key& key);

}  // namespace seedance::config
