#include "sim/world.h"

#include <gtest/gtest.h>

namespace seedance::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Actor kA{0};
constexpr Actor kB{5};

TEST(World, WakesInTheOrderOfTheirTimes) {
  World world{1};
  const TimePoint start = world.now();
  world.wake(kA, start + seconds{2});
  world.wake(kB, start + seconds{1});
  EXPECT_EQ(world.next(), kB);
  EXPECT_EQ(world.now(), start + seconds{1});
  EXPECT_EQ(world.next(), kA);
  EXPECT_EQ(world.now(), start + seconds{2});
  EXPECT_EQ(world.next(), std::nullopt);
}

TEST(World, OnlyTheEarliestWakeOfAnActorCounts) {
  World world{1};
  const TimePoint start = world.now();
  world.wake(kA, start + seconds{3});
  world.wake(kA, start + seconds{1});
  world.wake(kA, start + seconds{2});
  EXPECT_EQ(world.next(), kA);
  EXPECT_EQ(world.now(), start + seconds{1});
  world.wake(kA, start + seconds{3});
  EXPECT_EQ(world.next(), kA);
  EXPECT_EQ(world.now(), start + seconds{3});
  EXPECT_EQ(world.next(), std::nullopt);
}

TEST(World, AfterALeapWhoWasDueIsLate) {
  World world{1};
  const TimePoint start = world.now();
  world.wake(kA, start + seconds{1});
  world.leap(seconds{60});
  EXPECT_EQ(world.next(), kA);
  EXPECT_EQ(world.now(), start + seconds{60});
}

TEST(World, TheHashTellsWhatHappenedAndWhen) {
  const auto hash = [](std::uint64_t seed, auto happen) {
    World world{seed};
    happen(world);
    return world.hash();
  };
  const auto one = [](World& world) { world.note("one", 1); };
  EXPECT_EQ(hash(1, one), hash(1, one));
  EXPECT_NE(hash(1, one), hash(2, one));
  EXPECT_NE(hash(1, one), hash(1, [](World& world) { world.note("one", 2); }));
  EXPECT_NE(hash(1, one), hash(1, [](World& world) { world.note("two", 1); }));
  EXPECT_NE(hash(1, one), hash(1, [](World& world) {
              world.leap(milliseconds{1});
              world.note("one", 1);
            }));
}

TEST(World, EveryNoteIsAMomentOfItsOwn) {
  World world{1};
  const Moment before = world.moment();
  world.note("one");
  EXPECT_LT(before, world.moment());
}

TEST(World, TheFirstViolationCounts) {
  World world{1};
  EXPECT_FALSE(world.violated());
  world.violate("first");
  world.violate("second");
  EXPECT_EQ(world.violation(), "first");
}

TEST(World, DrawsTimesWithinTheirBounds) {
  World world{7};
  Duration least = seconds{10};
  Duration most{};
  for (int i = 0; i < 2000; ++i) {
    const Duration time = world.spread(milliseconds{1}, seconds{5});
    ASSERT_GE(time, milliseconds{1});
    ASSERT_LE(time, seconds{5});
    least = std::min(least, time);
    most = std::max(most, time);
  }
  EXPECT_LT(least, milliseconds{4});
  EXPECT_GT(most, seconds{3});
}

}  // namespace
}  // namespace seedance::sim
