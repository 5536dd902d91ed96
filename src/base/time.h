// Time as a value. Pure code is given `now`; only io reads a clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace seedance {

// The steady clock of this process. It has no now(): whoever needs the time is
// told it, so that a simulator can decide what time it is.
struct SteadyTime {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<SteadyTime>;
  static constexpr bool is_steady = true;
};

// Wall time: only for what people or journals read. Nanoseconds since 1970 UTC.
struct WallClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<WallClock>;
  static constexpr bool is_steady = false;
};

using Duration = SteadyTime::duration;
using TimePoint = SteadyTime::time_point;
using WallTime = WallClock::time_point;

// A deadline that never comes.
inline constexpr TimePoint kNever = TimePoint::max();

constexpr double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace seedance
