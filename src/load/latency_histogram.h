// How long things took, by the thousand, in little memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace seedance::loadgen {

// Counts durations in buckets that are wider where the durations are longer, as
// HdrHistogram does: 128 equal ones between a power of two of nanoseconds and the
// next. Holds no memory before the first value, some 36 kB after it. A value type.
class LatencyHistogram {
 public:
  // A percentile is never less than the exact one, and more by at most this share.
  static constexpr double kErrorMax = 1.0 / 128;
  // What took longer is counted as this; mean and largest stay exact.
  static constexpr Duration kLongest = std::chrono::hours{1};

  // Less than nothing counts as nothing.
  void add(Duration value);

  std::uint64_t count() const { return count_; }

  // Zero when there is no value.
  Duration mean() const;
  Duration max() const { return max_; }
  // The smallest value that at least this share of all, from 0 to 1, is no more than.
  Duration percentile(double share) const;

  friend bool operator==(const LatencyHistogram&, const LatencyHistogram&) = default;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  Duration max_{};
};

}  // namespace seedance::loadgen
