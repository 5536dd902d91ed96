// What the system says about a call that failed.
#pragma once

#include <string_view>

#include "base/result.h"

namespace seedance::io {

// The Error for the current errno: "what: Address already in use". Overloaded
// when descriptors or memory ran out, not_found for a missing file or address,
// else invalid.
std::unexpected<Error> system_failure(std::string_view what);

}  // namespace seedance::io
