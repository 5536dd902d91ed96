#include "server/door.h"

#include <gtest/gtest.h>

namespace seedance::server {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

TEST(SharedPace, SaysWhenToComeAgain) {
  SharedPace pace;
  EXPECT_EQ(pace.hold_until(2, kStart), std::nullopt);
  EXPECT_EQ(pace.hold_until(2, kStart), kStart + 500ms);
  EXPECT_EQ(pace.hold_until(2, kStart + 500ms), std::nullopt);
  pace.put_back(2);
  EXPECT_EQ(pace.hold_until(2, kStart + 500ms), std::nullopt);
}

TEST(SharedPace, HoldsNobodyWithoutARate) {
  SharedPace pace;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pace.hold_until(0, kStart), std::nullopt);
  pace.put_back(0);
  EXPECT_EQ(pace.hold_until(1, kStart), std::nullopt);
}

}  // namespace
}  // namespace seedance::server
