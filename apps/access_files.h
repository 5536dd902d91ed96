// Who may come in, as settings and the files that they name say it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "auth/gate.h"
#include "base/result.h"
#include "config/settings.h"

namespace seedance::apps {

// Reads the files. An error names the key of the settings and the file, and its line
// where that has one; it holds nothing secret.
Result<std::shared_ptr<const auth::Gate>> make_gate(const config::Settings& settings);

// A sentence for each file of secrets that others than its owner may read.
std::vector<std::string> access_warnings(const config::Settings& settings);

// Fails, as `invalid`, where a server that others reach asks nobody who he is,
// unless the settings want that.
Result<void> check_exposure(const config::Settings& settings, const auth::Gate& gate,
                            bool on_loopback);

}  // namespace seedance::apps
