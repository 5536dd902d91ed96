// What a person writes of a model's adapters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/config.h"

namespace seedance::apps {

inline constexpr std::size_t kAdaptersMax = 32;  // Each takes memory, used or not.
inline constexpr std::size_t kAdapterNameBytesMax = 64;

// Of NAME=FILE each: letters, digits, and . _ - within the name, which is no other's.
Result<std::vector<server::Adapter>> parse_adapters(const std::vector<std::string>& texts);

}  // namespace seedance::apps
