// The model that is served when none is named.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace seedance::apps {

// The directory of the running binary, behind all links; empty where /proc is missing.
std::string binary_directory();

// Where the demo model may be, in the order in which it is looked for: beside the
// binary (as built), in share/ beside bin/ (as installed), in the data directory.
std::vector<std::string> demo_model_places(const std::string& binary_directory,
                                           const std::string& data_directory);

// The first place where there is something; what it is, is for others to check.
// Not_found names all places, and the flag that helps, in one line.
Result<std::string> find_demo_model(std::span<const std::string> places);

}  // namespace seedance::apps
