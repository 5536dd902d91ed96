// The only clock.
#pragma once

#include "base/time.h"

namespace seedance::io {

TimePoint now();
WallTime wall_now();

}  // namespace seedance::io
