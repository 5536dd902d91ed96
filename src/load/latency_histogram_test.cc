#include "load/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace seedance::loadgen {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(LatencyHistogram, HasNothingToSayOfNothing) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.mean(), Duration{});
  EXPECT_EQ(histogram.percentile(0.5), Duration{});
  EXPECT_EQ(histogram.max(), Duration{});
}

TEST(LatencyHistogram, IsExactForSmallValues) {
  LatencyHistogram histogram;
  for (int ns = 1; ns <= 100; ++ns) histogram.add(nanoseconds{ns});
  EXPECT_EQ(histogram.percentile(0.0), nanoseconds{1});
  EXPECT_EQ(histogram.percentile(0.5), nanoseconds{50});
  EXPECT_EQ(histogram.percentile(0.501), nanoseconds{51});
  EXPECT_EQ(histogram.percentile(0.99), nanoseconds{99});
  EXPECT_EQ(histogram.percentile(1.0), nanoseconds{100});
  EXPECT_EQ(histogram.mean(), nanoseconds{51});  // 50.5, rounded.
}

// Each lone value, over the whole range, on both sides of every power of two.
TEST(LatencyHistogram, KeepsToItsErrorFromNanosecondsToAnHour) {
  for (std::int64_t power = 1; power < LatencyHistogram::kLongest.count(); power *= 2) {
    for (const std::int64_t ns : {power - 1, power, power + 1, power + power / 3}) {
      const Duration value = std::min(Duration{ns}, LatencyHistogram::kLongest);
      LatencyHistogram histogram;
      histogram.add(value);
      histogram.add(hours{1});  // So that the largest does not cut it to the exact one.
      const Duration told = histogram.percentile(0.5);
      EXPECT_GE(told, value);
      const auto most = static_cast<double>(value.count()) * (1 + LatencyHistogram::kErrorMax);
      EXPECT_LE(static_cast<double>(told.count()), most);
    }
  }
}

TEST(LatencyHistogram, AgreesWithSortedValues) {
  Prng random{7};
  LatencyHistogram histogram;
  std::vector<double> sorted;
  for (int i = 0; i < 20'000; ++i) {
    const Duration value{std::llround(std::exp(random.uniform() * 28))};  // Up to 24 minutes.
    histogram.add(value);
    sorted.push_back(static_cast<double>(value.count()));
  }
  std::ranges::sort(sorted);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = sorted[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1];
    const auto told = static_cast<double>(histogram.percentile(share).count());
    EXPECT_GE(told, exact) << share;
    EXPECT_LE(told, exact * (1 + LatencyHistogram::kErrorMax)) << share;
  }
  EXPECT_EQ(static_cast<double>(histogram.max().count()), sorted.back());
}

TEST(LatencyHistogram, CountsWhatIsBeyondItsEnds) {
  LatencyHistogram histogram;
  histogram.add(milliseconds{-5});
  EXPECT_EQ(histogram.percentile(1), Duration{});
  histogram.add(hours{3});
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.max(), hours{3});
  EXPECT_GE(histogram.percentile(1), hours{1});
  EXPECT_LE(histogram.percentile(1), hours{3});
}

}  // namespace
}  // namespace seedance::loadgen
