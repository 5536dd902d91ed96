#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Rfc3339, IsUtc) {
  EXPECT_EQ(to_rfc3339(WallTime{}), "1970-01-01T00:00:00Z");
  const WallTime leap_day{seconds{1'709'210'096} + milliseconds{9}};
  EXPECT_EQ(to_rfc3339(leap_day), "2024-02-29T12:34:56Z");
  EXPECT_EQ(to_rfc3339_ms(leap_day), "2024-02-29T12:34:56.009Z");
}

TEST(Rfc3339, IsNeverLaterThanTheTime) {
  const WallTime time{seconds{1'709'210'096} + milliseconds{999} + std::chrono::nanoseconds{999}};
  EXPECT_EQ(to_rfc3339(time), "2024-02-29T12:34:56Z");
  EXPECT_EQ(to_rfc3339_ms(time), "2024-02-29T12:34:56.999Z");
  EXPECT_EQ(to_rfc3339_ms(WallTime{-milliseconds{1}}), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace seedance
