#include "load/duration.h"

#include <gtest/gtest.h>

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;

TEST(Duration, HasANumberAndAUnit) {
  EXPECT_EQ(parse_duration("300ms"), Duration{300ms});
  EXPECT_EQ(parse_duration("2.5s"), Duration{2500ms});
  EXPECT_EQ(parse_duration("50us"), Duration{50us});
  EXPECT_EQ(parse_duration("10m"), Duration{10min});
  EXPECT_EQ(parse_duration("24h"), Duration{24h});
}

TEST(Duration, IsNothingElse) {
  for (const char* wrong : {"", "s", "5", "5 s", "-1s", "0s", "25h", "1e99h", "nans", "5sec"}) {
    const auto duration = parse_duration(wrong);
    ASSERT_FALSE(duration) << wrong;
    EXPECT_EQ(duration.error().code, Errc::invalid);
    EXPECT_NE(duration.error().detail.find(wrong), std::string::npos);
  }
}

}  // namespace
}  // namespace seedance::loadgen
