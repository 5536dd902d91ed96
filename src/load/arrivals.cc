#include "load/arrivals.h"

#include <cmath>

namespace seedance::loadgen {

Duration Arrivals::next() {
  seconds_ -= std::log1p(-random_.uniform()) / rate_;
  return Duration{std::llround(seconds_ * 1e9)};
}

}  // namespace seedance::loadgen
