// The settings as a person gave them: file, environment, flags.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/load.h"
#include "config/settings.h"

namespace seedance::apps {

// Whether the flag may stand alone, for true.
bool is_switch(std::string_view flag);

// By flag; empty = not given. A switch that stands alone has the value "".
using Flags = std::map<std::string, std::vector<std::string>>;

// `path` is that of the file; empty = seedance.yaml in the working directory, if it
// is there. Reads this process's environment.
Result<config::Settings> load_settings(const std::string& path, const Flags& flags = {});

// The environment of this process.
config::Variables environment();

}  // namespace seedance::apps
