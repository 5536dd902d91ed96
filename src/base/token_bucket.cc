#include "base/token_bucket.h"

#include <algorithm>

namespace seedance {
namespace {

constexpr std::uint32_t kBurstsPerSecond = 10;

Duration interval(std::uint32_t per_second) {
  return Duration{std::chrono::seconds{1}} / per_second;
}

// How much may be owed when another one is taken.
Duration slack(std::uint32_t per_second) {
  return interval(per_second) * (std::max(1U, per_second / kBurstsPerSecond) - 1);
}

}  // namespace

bool TokenBucket::take(std::uint32_t per_second, TimePoint now) {
  if (per_second == 0) return true;
  if (ready_at(per_second) > now) return false;
  full_at_ = std::max(full_at_, now) + interval(per_second);
  return true;
}

void TokenBucket::put_back(std::uint32_t per_second) {
  if (per_second > 0) full_at_ -= interval(per_second);
}

TimePoint TokenBucket::ready_at(std::uint32_t per_second) const {
  return per_second == 0 ? TimePoint{} : full_at_ - slack(per_second);
}

}  // namespace seedance
