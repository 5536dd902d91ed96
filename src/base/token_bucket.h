// So many a second, evenly.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace seedance {

// Lets a tenth of a second's worth through at once after a pause, then one at a time.
// The rate is given with each call, since it may change; 0 = everybody. A value;
// belongs to one thread.
class TokenBucket {
 public:
  // Takes one. When there is none: nothing is taken, and ready_at() is after `now`.
  bool take(std::uint32_t per_second, TimePoint now);
  // What was taken last is not needed.
  void put_back(std::uint32_t per_second);

  // When one can be taken.
  TimePoint ready_at(std::uint32_t per_second) const;

 private:
  TimePoint full_at_{};  // Then nothing is owed for what was taken.
};

}  // namespace seedance
