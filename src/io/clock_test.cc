#include "io/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace seedance::io {
namespace {

TEST(Clock, NeverGoesBack) {
  const TimePoint before = now();
  EXPECT_LE(before, now());
}

TEST(Clock, WallTimeCountsFrom1970) {
  const auto years = std::chrono::floor<std::chrono::years>(wall_now().time_since_epoch()).count();
  EXPECT_GE(years, 50);
  EXPECT_LT(years, 250);
}

}  // namespace
}  // namespace seedance::io
