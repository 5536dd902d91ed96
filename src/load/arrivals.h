// When requests come that know nothing of each other.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace seedance::loadgen {

// A Poisson process: the gaps are independent and exponentially distributed. One
// seed, one sequence.
class Arrivals {
 public:
  // `rate` a second, above 0.
  Arrivals(double rate, std::uint64_t seed) : rate_(rate), random_(seed) {}

  // The next arrival, counted from the beginning.
  Duration next();

 private:
  double rate_;
  Prng random_;
  double seconds_ = 0;
};

}  // namespace seedance::loadgen
