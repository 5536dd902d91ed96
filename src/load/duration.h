// Durations as people write them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace seedance::loadgen {

// "300ms", "2.5s", "10m", "1h", "50us": above 0, at most a day. Invalid, with the
// text in the sentence, for everything else.
Result<Duration> parse_duration(std::string_view text);

}  // namespace seedance::loadgen
