// What a reload changes.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace seedance::config {

// A key whose value is another now.
struct Change {
  const Key* key = nullptr;
  std::string before;  // As the file writes it; of a secret, only how many values there are.
  std::string after;
};

// In the order of keys().
std::vector<Change> difference(const Settings& before, const Settings& after);

// "max_connections: 100 -> 200"
std::string to_text(const Change& change);

// `running` with the values of `wanted` for every key that takes no restart.
Settings reloaded(const Settings& running, const Settings& wanted);

}  // namespace seedance::config
