#include "server/deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"

namespace seedance::server {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using Places = std::vector<std::uint32_t>;

constexpr TimePoint kNow{seconds{100}};
constexpr Duration kTick{1 << 16};
constexpr std::size_t kAll = 1'000'000;

Places take(Deadlines& deadlines, TimePoint now, std::size_t moves_max = kAll) {
  Places due;
  deadlines.take(now, moves_max, due);
  std::ranges::sort(due);
  return due;
}

TEST(Deadlines, GiveWhatIsDueOnce) {
  Deadlines deadlines;
  EXPECT_EQ(deadlines.next(), kNever);
  deadlines.set(2, kNow + seconds{2});
  deadlines.set(1, kNow + seconds{1});
  EXPECT_GE(deadlines.next(), kNow + seconds{1});
  EXPECT_LE(deadlines.next(), kNow + seconds{1} + kTick);
  EXPECT_EQ(take(deadlines, kNow), Places{});
  EXPECT_EQ(take(deadlines, deadlines.next()), Places{1});
  EXPECT_EQ(take(deadlines, kNow + seconds{2} - kTick), Places{});
  EXPECT_EQ(take(deadlines, kNow + seconds{3}), Places{2});
  EXPECT_EQ(deadlines.next(), kNever);
}

TEST(Deadlines, APlaceHasButOne) {
  Deadlines deadlines;
  deadlines.set(7, kNow + seconds{5});
  deadlines.set(7, kNow + seconds{1});
  EXPECT_EQ(take(deadlines, kNow + seconds{2}), Places{7});
  EXPECT_EQ(deadlines.next(), kNever);
  deadlines.set(7, kNow + seconds{3});
  deadlines.set(7, kNow + hours{1});
  EXPECT_EQ(take(deadlines, kNow + minutes{59}), Places{});
  deadlines.erase(7);
  deadlines.erase(7);
  deadlines.erase(1'000);
  EXPECT_EQ(deadlines.next(), kNever);
  EXPECT_EQ(take(deadlines, kNow + hours{2}), Places{});
}

TEST(Deadlines, WhatIsPastIsDueAtOnce) {
  Deadlines deadlines;
  deadlines.set(0, TimePoint{});
  EXPECT_EQ(take(deadlines, TimePoint{}), Places{0});
  EXPECT_EQ(take(deadlines, kNow), Places{});
  deadlines.set(0, kNow - seconds{1});
  EXPECT_LE(deadlines.next(), kNow);
  EXPECT_EQ(take(deadlines, kNow), Places{0});
}

TEST(Deadlines, HoldAnyTimeThereIs) {
  Deadlines deadlines;
  EXPECT_EQ(take(deadlines, kNow), Places{});
  deadlines.set(0, kNow + hours{24 * 365 * 100});
  deadlines.set(1, kNever);
  deadlines.set(2, kNever - Duration{1});
  EXPECT_EQ(take(deadlines, kNow + hours{24 * 365 * 100} - kTick), Places{});
  EXPECT_EQ(take(deadlines, kNow + hours{24 * 365 * 100} + kTick), Places{0});
  EXPECT_EQ(deadlines.next(), kNever);
}

// Whatever bit is the highest in which a deadline and the time before it differ.
TEST(Deadlines, NeverEarlyAndATickLateAtMost) {
  for (int bit = 0; bit < 62; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      Deadlines deadlines;
      const TimePoint at{Duration{(std::int64_t{1} << bit) + off}};
      deadlines.set(3, at);
      if (at > TimePoint{}) {
        EXPECT_EQ(take(deadlines, at - Duration{1}), Places{}) << bit;
      }
      EXPECT_GE(deadlines.next(), at) << bit;
      EXPECT_LT(deadlines.next(), at + kTick) << bit;
      EXPECT_EQ(take(deadlines, at + kTick), Places{3}) << bit;
    }
  }
}

TEST(Deadlines, ALongSleepGivesAllInTurnsOfABoundedSize) {
  Deadlines deadlines;
  constexpr std::uint32_t kPlaces = 20'000;
  EXPECT_EQ(take(deadlines, kNow), Places{});
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    deadlines.set(place, kNow + milliseconds{place});
  }
  const TimePoint woke = kNow + minutes{10};
  Places due;
  for (std::size_t turn = 1; turn <= kPlaces / 1'000; ++turn) {
    EXPECT_LE(deadlines.next(), woke);
    deadlines.take(woke, 1'000, due);
    EXPECT_EQ(due.size(), turn * 1'000) << "nothing has to sink when all is due";
  }
  std::ranges::sort(due);
  EXPECT_EQ(std::ranges::adjacent_find(due), due.end());
  EXPECT_EQ(deadlines.next(), kNever);
}

// One slot of a high wheel has them all: they sink a few at a time.
TEST(Deadlines, BoundsWhatItMovesToo) {
  Deadlines deadlines;
  EXPECT_EQ(take(deadlines, kNow), Places{});
  for (std::uint32_t place = 0; place < 1'000; ++place) {
    deadlines.set(place, kNow + hours{1} + milliseconds{1'000 - place});
  }
  const TimePoint first = kNow + hours{1} + milliseconds{1} + kTick;
  Places due;
  int turns = 0;
  for (; due.empty() && turns < 1'000; ++turns) {
    EXPECT_LE(deadlines.next(), first);
    deadlines.take(first, 10, due);
    EXPECT_LE(due.size(), 10U);
  }
  EXPECT_EQ(due, Places{999});
  EXPECT_GT(turns, 1);
}

TEST(Deadlines, FarOnesMoveToATickAndNeverEarlier) {
  EXPECT_EQ(coarse(kNow + milliseconds{1}, kNow), kNow + milliseconds{1});
  EXPECT_EQ(coarse(kNow + milliseconds{999}, kNow), kNow + milliseconds{999});
  EXPECT_EQ(coarse(kNow + milliseconds{1001}, kNow), kNow + milliseconds{1250});
  EXPECT_EQ(coarse(kNow + milliseconds{1250}, kNow), kNow + milliseconds{1250});
  EXPECT_EQ(coarse(kNever, kNow), kNever);
}

TEST(Deadlines, AnEntryThatIsLaterThanItsDeadlineIsNoneForWhatIsNear) {
  const TimePoint far = kNow + milliseconds{1001};
  EXPECT_EQ(sooner_entry(far, kNever, kNow), kNow + milliseconds{1250});
  const TimePoint entry = kNow + milliseconds{1250};
  EXPECT_EQ(sooner_entry(far, entry, kNow), std::nullopt);
  EXPECT_EQ(sooner_entry(far, entry, kNow + milliseconds{500}), far);
  const TimePoint between = far + milliseconds{50};
  EXPECT_EQ(sooner_entry(between, entry, far), between);
  EXPECT_EQ(sooner_entry(entry, entry, far), std::nullopt);
}

// The same by an ordered map: everything is searched.
class Model {
 public:
  void set(std::uint32_t place, TimePoint at) {
    erase(place);
    by_time_.emplace(at, place);
  }
  void erase(std::uint32_t place) {
    std::erase_if(by_time_, [place](const auto& entry) { return entry.second == place; });
  }
  std::optional<TimePoint> at(std::uint32_t place) const {
    for (const auto& [at, whose] : by_time_) {
      if (whose == place) return at;
    }
    return std::nullopt;
  }
  TimePoint next() const { return by_time_.empty() ? kNever : by_time_.begin()->first; }

 private:
  std::multimap<TimePoint, std::uint32_t> by_time_;
};

Duration some_while(Prng& random) {
  // As many short ones as long ones, up to a day.
  return Duration{static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(47)))};
}

class DeadlinesAndModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(DeadlinesAndModel, Agree) {
  Prng random{GetParam()};
  Deadlines deadlines;
  Model model;
  TimePoint now = kNow;
  for (int step = 0; step < 3'000; ++step) {
    const auto place = static_cast<std::uint32_t>(random.below(60));
    const std::uint64_t what = random.below(10);
    if (what < 6) {
      const TimePoint at = now - microseconds{50} + some_while(random);
      deadlines.set(place, at);
      model.set(place, at);
    } else if (what < 7) {
      deadlines.erase(place);
      model.erase(place);
    } else {
      now += some_while(random) / 4;
      const bool bounded = random.below(2) == 0;
      Places due;
      deadlines.take(now, bounded ? random.below(20) : kAll, due);
      for (const std::uint32_t one : due) {
        const auto at = model.at(one);
        ASSERT_TRUE(at.has_value()) << "place " << one << " has none; step " << step;
        ASSERT_LE(*at, now) << "early; step " << step;
        model.erase(one);
      }
      if (!bounded) {
        ASSERT_GT(model.next(), now - kTick) << "late; step " << step;
      }
    }
    ASSERT_LE(deadlines.next(),
              std::max(now, model.next() < kNever ? model.next() + kTick : kNever))
        << "sleeps too long; step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeadlinesAndModel, testing::Range<std::uint64_t>(0, 20));

}  // namespace
}  // namespace seedance::server
