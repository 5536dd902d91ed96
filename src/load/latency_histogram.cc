#include "load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace seedance::loadgen {
namespace {

constexpr int kStepBits = 7;
constexpr std::uint64_t kSteps = std::uint64_t{1} << kStepBits;  // Between powers of two.
static_assert(LatencyHistogram::kErrorMax * kSteps == 1.0);

// Below kSteps every nanosecond has its bucket; above, `shift` low bits do not count.
constexpr std::size_t bucket_of(std::uint64_t ns) {
  if (ns < kSteps) return ns;
  const auto shift = static_cast<int>(std::bit_width(ns)) - 1 - kStepBits;
  return static_cast<std::size_t>(shift) * kSteps + (ns >> shift);
}

// The longest that belongs to it.
constexpr std::uint64_t upper_edge(std::size_t bucket) {
  if (bucket < kSteps) return bucket;
  const std::size_t shift = bucket / kSteps - 1;
  return ((kSteps + bucket % kSteps + 1) << shift) - 1;
}

constexpr std::size_t kBuckets = bucket_of(LatencyHistogram::kLongest.count()) + 1;

}  // namespace

void LatencyHistogram::add(Duration value) {
  value = std::max(value, Duration{});
  if (buckets_.empty()) buckets_.resize(kBuckets);
  const auto ns = static_cast<std::uint64_t>(std::min(value, kLongest).count());
  ++buckets_[bucket_of(ns)];
  ++count_;
  sum_ns_ += static_cast<double>(value.count());
  max_ = std::max(max_, value);
}

Duration LatencyHistogram::mean() const {
  if (count_ == 0) return {};
  return Duration{std::llround(sum_ns_ / static_cast<double>(count_))};
}

Duration LatencyHistogram::percentile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= std::max<std::uint64_t>(wanted, 1)) {
      return std::min(Duration{static_cast<std::int64_t>(upper_edge(bucket))}, max_);
    }
  }
  return max_;
}

}  // namespace seedance::loadgen
