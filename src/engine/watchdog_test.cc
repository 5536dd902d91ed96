#include "engine/watchdog.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1000}};
constexpr Watchdog::Limits kLimits{.load = seconds{100}, .step = seconds{10}};

TEST(Watchdog, WatchesNobodyWhoIsNotThere) {
  EXPECT_EQ(Watchdog{kLimits}.deadline(), kNever);
}

TEST(Watchdog, WaitsForLoadingFromItsLastSign) {
  Watchdog watchdog{kLimits};
  watchdog.on_started(kStart);
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{100});
  watchdog.on_heard(kStart + seconds{60});
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{160});
  watchdog.on_owed(1, kStart + seconds{90});  // What it is asked meanwhile is no sign of it.
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{160});
}

TEST(Watchdog, LetsWhoOwesNothingBeSilent) {
  Watchdog watchdog{kLimits};
  watchdog.on_started(kStart);
  watchdog.on_ready();
  EXPECT_EQ(watchdog.deadline(), kNever);
}

TEST(Watchdog, CountsFromWhenItBeganToOwe) {
  Watchdog watchdog{kLimits};
  watchdog.on_started(kStart);
  watchdog.on_ready();
  watchdog.on_owed(1, kStart + seconds{50});
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{60});
  watchdog.on_owed(2, kStart + seconds{55});  // More work is no sign of it.
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{60});
  watchdog.on_heard(kStart + seconds{58});
  watchdog.on_owed(1, kStart + seconds{58});
  EXPECT_EQ(watchdog.deadline(), kStart + seconds{68});
  watchdog.on_owed(0, kStart + seconds{59});
  EXPECT_EQ(watchdog.deadline(), kNever);
}

TEST(Watchdog, ForgetsWhatADeadOneOwed) {
  Watchdog watchdog{kLimits};
  watchdog.on_started(kStart);
  watchdog.on_ready();
  watchdog.on_owed(3, kStart);
  watchdog.on_ended();
  EXPECT_EQ(watchdog.deadline(), kNever);
  watchdog.on_started(kStart + seconds{20});
  EXPECT_TRUE(watchdog.loading());
  EXPECT_EQ(watchdog.owed(), 0U);
}

TEST(Watchdog, NeverBarksAtALimitOfZero) {
  Watchdog watchdog{{}};
  watchdog.on_started(kStart);
  EXPECT_EQ(watchdog.deadline(), kNever);
  watchdog.on_ready();
  watchdog.on_owed(1, kStart);
  EXPECT_EQ(watchdog.deadline(), kNever);
}

}  // namespace
}  // namespace seedance::engine
