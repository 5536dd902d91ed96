#include "engine/backoff.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1000}};

TEST(Backoff, DoublesUpToTheLongest) {
  Backoff backoff{{}};
  Duration expected = milliseconds{100};
  for (int i = 0; i < 10; ++i) {
    backoff.on_started(kStart);
    EXPECT_EQ(backoff.on_failure(kStart) - kStart, std::min<Duration>(expected, seconds{10}));
    expected *= 2;
  }
}

TEST(Backoff, ForgetsFailuresAfterAHealthyRun) {
  Backoff backoff{{}};
  for (int i = 0; i < 5; ++i) (void)backoff.on_failure(kStart);
  backoff.on_started(kStart);
  const TimePoint later = kStart + seconds{60};
  EXPECT_EQ(backoff.on_failure(later) - later, milliseconds{100});
}

TEST(Backoff, StartsAtOnceWhatHadWorked) {
  Backoff backoff{{}};
  for (int i = 0; i < 5; ++i) (void)backoff.on_failure(kStart);
  backoff.on_started(kStart);
  backoff.on_work();
  EXPECT_EQ(backoff.on_failure(kStart), kStart);
  backoff.on_started(kStart);
  EXPECT_EQ(backoff.on_failure(kStart) - kStart, milliseconds{100});
}

TEST(Backoff, StaysAtTheLongestForEver) {
  Backoff backoff{{}};
  for (int i = 0; i < 10'000; ++i) (void)backoff.on_failure(kStart);
  EXPECT_EQ(backoff.on_failure(kStart) - kStart, seconds{10});
}

}  // namespace
}  // namespace seedance::engine
