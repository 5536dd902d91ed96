#include "load/arrivals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace seedance::loadgen {
namespace {

using std::chrono::seconds;

TEST(Arrivals, AreTheSameForTheSameSeed) {
  Arrivals one{10, 3};
  Arrivals same{10, 3};
  Arrivals other{10, 4};
  EXPECT_EQ(one.next(), same.next());
  EXPECT_EQ(one.next(), same.next());
  EXPECT_NE(one.next(), other.next());
}

TEST(Arrivals, NeverGoBack) {
  Arrivals arrivals{1000, 1};
  Duration last{};
  for (int i = 0; i < 10'000; ++i) {
    const Duration next = arrivals.next();
    EXPECT_GE(next, last);
    last = next;
  }
}

// Mean and standard deviation of the gaps are both 1/rate, and a share of 1/e of
// them is longer: so it is with no other distribution that one would mistake for it.
TEST(Arrivals, HaveExponentialGapsOfTheRate) {
  constexpr int kCount = 100'000;
  constexpr double kRate = 50;
  Arrivals arrivals{kRate, 1};
  double sum = 0;
  double squares = 0;
  int longer = 0;
  Duration last{};
  for (int i = 0; i < kCount; ++i) {
    const Duration next = arrivals.next();
    const double gap = std::chrono::duration<double>(next - last).count() * kRate;
    last = next;
    sum += gap;
    squares += gap * gap;
    if (gap > 1) ++longer;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 1, 0.02);
  EXPECT_NEAR(static_cast<double>(longer) / kCount, std::exp(-1), 0.01);
}

}  // namespace
}  // namespace seedance::loadgen
