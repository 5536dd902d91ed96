#include "io/clock.h"

#include <chrono>

namespace seedance::io {

TimePoint now() {
  return TimePoint{std::chrono::steady_clock::now().time_since_epoch()};
}

WallTime wall_now() {
  return WallTime{std::chrono::system_clock::now().time_since_epoch()};
}

}  // namespace seedance::io
