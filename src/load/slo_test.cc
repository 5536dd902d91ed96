#include "load/slo.h"

#include <gtest/gtest.h>

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;

TEST(Slo, IsReadFromOneLine) {
  EXPECT_EQ(parse_slo("ttft=300ms"), (Slo{.ttft = 300ms}));
  EXPECT_EQ(parse_slo("e2e=2s,itl=50ms,tpot=40ms,ttft=1s"),
            (Slo{.ttft = 1s, .itl = 50ms, .tpot = 40ms, .e2e = 2s}));
}

TEST(Slo, NamesWhatItCannotRead) {
  for (const char* wrong : {"", "ttft", "ttft=", "ttft=300", "speed=1s", "ttft=1s,",
                            "itl=1s,itl=2s", "ttft=1s;itl=2s"}) {
    const auto slo = parse_slo(wrong);
    ASSERT_FALSE(slo) << wrong;
    EXPECT_EQ(slo.error().code, Errc::invalid);
  }
  EXPECT_NE(parse_slo("itl=1s,speed=1s").error().detail.find("'speed=1s'"), std::string::npos);
}

TEST(Slo, HoldsWhereEveryBoundIsKept) {
  const Latency latency{.ttft = 100ms, .longest_gap = 20ms, .tpot = 10ms, .e2e = 1s};
  EXPECT_TRUE(Slo{}.holds(latency));
  EXPECT_TRUE((Slo{.ttft = 100ms, .itl = 20ms, .tpot = 10ms, .e2e = 1s}.holds(latency)));
  EXPECT_FALSE((Slo{.ttft = 99ms}.holds(latency)));
  EXPECT_FALSE((Slo{.itl = 19ms}.holds(latency)));
  EXPECT_FALSE((Slo{.tpot = 9ms}.holds(latency)));
  EXPECT_FALSE((Slo{.e2e = 999ms}.holds(latency)));
}

TEST(Slo, WithoutTextThereIsNoTimeToIt) {
  EXPECT_FALSE((Slo{.ttft = 1s}.holds({.e2e = 1ms})));
  EXPECT_TRUE((Slo{.tpot = 1s}.holds({.ttft = 1ms, .e2e = 1ms})));
}

}  // namespace
}  // namespace seedance::loadgen
