#include "sched/park_memory.h"

#include <gtest/gtest.h>

#include "sched/harness.h"

namespace seedance::sched {
namespace {

using enum Priority;
using Places = std::vector<Slot>;

constexpr double kTokenNs = 1000;
constexpr ParkLimits kLimits{
    .bytes_max = 1000, .sequence = {.fixed = 10, .token = 1}, .first_place = 4};

ParkMemory::Parking parking(std::uint64_t id, std::uint32_t tokens,
                            Priority priority = interactive) {
  return {.job = job(id), .priority = priority, .tokens = tokens, .lost = tokens};
}

// Where it is, and what went for it.
Places save(ParkMemory& memory, const ParkMemory::Parking& parking) {
  const auto saving = memory.save(parking, kTokenNs);
  if (!saving) return {};
  Places places = saving->dropped;
  places.push_back(saving->place);
  return places;
}

TEST(ParkMemory, KeepsWhatAJobHas) {
  ParkMemory memory{kLimits};
  ParkMemory::Parking first = parking(1, 90);
  first.reused = 20;
  EXPECT_EQ(save(memory, first), (Places{{4}}));
  EXPECT_EQ(save(memory, parking(2, 100)), (Places{{5}}));
  EXPECT_EQ(memory.bytes(), 210);
  EXPECT_EQ(memory.find(job(1)), (Saved{.place = {4}, .tokens = 90, .reused = 20}));
  EXPECT_EQ(memory.find(job(1, 2)), std::nullopt);
  EXPECT_EQ(memory.find(job(3)), std::nullopt);
  memory.on_restored({4}, {});
  EXPECT_EQ(memory.find(job(1)), std::nullopt);
  EXPECT_EQ(memory.drop(job(2)), Slot{5});
  EXPECT_EQ(memory.drop(job(2)), std::nullopt);
  EXPECT_EQ(memory.bytes(), 0);
}

TEST(ParkMemory, SavesNothingWithoutRoomForIt) {
  ParkMemory none{{.bytes_max = 0, .sequence = {.fixed = 1}}};
  EXPECT_EQ(save(none, parking(1, 90)), Places{});
  ParkMemory memory{kLimits};
  EXPECT_EQ(save(memory, parking(1, 991)), Places{});
  EXPECT_EQ(save(memory, parking(1, 990)), (Places{{4}}));
}

TEST(ParkMemory, SavesNothingThatIsNotLost) {
  ParkMemory memory{kLimits};
  ParkMemory::Parking shared = parking(1, 90);
  shared.lost = 0;
  EXPECT_EQ(save(memory, shared), Places{});
}

TEST(ParkMemory, SavesNothingBeforeItIsKnownWhatComputingTakes) {
  ParkMemory memory{kLimits};
  EXPECT_FALSE(memory.save(parking(1, 90), 0));
}

// What a byte takes counts, not what a token does.
TEST(ParkMemory, SavesWhatIsComputedAgainMoreSlowly) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 90));
  memory.on_saved({4}, Duration{100 * 400});
  memory.on_restored({4}, Duration{100 * 400});  // A byte takes 800 ns, both ways.
  EXPECT_EQ(memory.save_ns(90), 40'000);
  EXPECT_EQ(memory.restore_ns(190), 80'000);
  EXPECT_EQ(save(memory, parking(2, 35)), Places{});  // 35 µs; saving its 45 bytes takes 36.
  EXPECT_EQ(save(memory, parking(2, 45)), (Places{{5}}));
  ParkMemory::Parking shared = parking(3, 90);
  shared.lost = 80;
  EXPECT_EQ(save(memory, shared), Places{});
  shared.lost = 81;
  EXPECT_EQ(save(memory, shared), (Places{{6}}));
}

TEST(ParkMemory, TriesNowAndThenWhatWasNotWorthIt) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 90));
  memory.on_saved({4}, std::chrono::seconds{1});
  memory.on_restored({4}, {});
  int tried = 0;
  for (std::uint64_t id = 2; id < 66; ++id) tried += save(memory, parking(id, 4)).empty() ? 0 : 1;
  EXPECT_EQ(tried, 2);
}

TEST(ParkMemory, BelievesNoOutlier) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 90));
  memory.on_saved({4}, Duration{100});
  save(memory, parking(2, 90));
  memory.on_saved({5}, std::chrono::hours{1});
  EXPECT_LE(memory.save_ns(90), 400);
  EXPECT_GT(memory.save_ns(90), 100);
}

TEST(ParkMemory, ForgetsWhatCouldNotBeSaved) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 90));
  const double before = memory.save_ns(90);
  memory.on_not_saved({4});
  EXPECT_EQ(memory.find(job(1)), std::nullopt);
  EXPECT_EQ(memory.bytes(), 0);
  EXPECT_EQ(memory.save_ns(90), before);
}

// What is said late of one is not taken for another's.
TEST(ParkMemory, UsesNoPlaceAgainSoon) {
  ParkMemory memory{kLimits};
  for (std::uint32_t id = 0; id < 100; ++id) {
    EXPECT_EQ(save(memory, parking(id, 90)), (Places{{4 + id}}));
    memory.drop(job(id));
    memory.on_restored({4 + id}, {});
    memory.on_not_saved({4 + id});
  }
  EXPECT_EQ(memory.bytes(), 0);
}

TEST(ParkMemory, DropsTheOldestOfTheLowestClass) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 190, interactive));
  save(memory, parking(2, 190, batch));
  save(memory, parking(3, 190, realtime));
  save(memory, parking(4, 190, batch));
  save(memory, parking(5, 190, interactive));
  EXPECT_EQ(memory.bytes(), 1000);
  EXPECT_EQ(save(memory, parking(6, 190, batch)), (Places{{5}, {9}}));
  EXPECT_EQ(save(memory, parking(7, 500, interactive)), (Places{{7}, {9}, {4}, {10}}));
  EXPECT_TRUE(memory.find(job(3)));
  EXPECT_TRUE(memory.find(job(5)));
  EXPECT_TRUE(memory.find(job(7)));
}

// Nor anything where that would not be enough.
TEST(ParkMemory, DropsNothingOfAHigherClass) {
  ParkMemory memory{kLimits};
  save(memory, parking(1, 500, realtime));
  save(memory, parking(2, 190, batch));
  EXPECT_EQ(save(memory, parking(3, 490, interactive)), Places{});
  EXPECT_EQ(save(memory, parking(4, 480, interactive)), (Places{{5}, {6}}));
  EXPECT_TRUE(memory.find(job(1)));
}

}  // namespace
}  // namespace seedance::sched
