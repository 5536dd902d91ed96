// Times as people and their programs write them.
#pragma once

#include <string>

#include "base/time.h"

namespace seedance {

// UTC, to the second or to the millisecond below: "2025-06-30T12:00:00Z",
// "2025-06-30T12:00:00.125Z".
std::string to_rfc3339(WallTime time);
std::string to_rfc3339_ms(WallTime time);

}  // namespace seedance
