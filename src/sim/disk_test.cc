#include "sim/disk.h"

#include <gtest/gtest.h>

#include "sim/test_records.h"

namespace seedance::sim {
namespace {

constexpr Actor kSelf{0};

// A disk to which a stream is written, batch by batch.
struct Written : Journalled {
  explicit Written(Sync sync, std::uint64_t seed = 1)
      : Journalled(seed), disk(world, kSelf, {.sync = sync}, ledger) {
    EXPECT_TRUE(disk.open());
    append(bytes_of(state()));
  }

  void append(std::string bytes, std::uint32_t segment = 1) {
    disk.append({.batch = ++batches, .segment = segment, .bytes = std::move(bytes)});
  }
  void append_tokens(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) append(bytes_of(tokens(i, i + 1)));
  }
  // Until the disk has nothing to do, or has been woken so often.
  void work(int turns = 1000) {
    while (turns-- > 0 && world.next()) {
      disk.turn();
      for (const core::Message& message : disk.take_messages()) {
        if (const auto* one = std::get_if<core::JournalWritten>(&message)) written = one->batch;
        if (std::holds_alternative<core::JournalStalled>(message)) ++stalls;
        if (std::holds_alternative<core::JournalFlows>(message)) ++flows;
      }
    }
  }

  Disk disk;
  std::uint64_t batches = 0;
  std::uint64_t written = 0;
  int stalls = 0;
  int flows = 0;
};

TEST(Disk, SaysWhatIsWrittenAndNotBefore) {
  Written w{Sync::none};
  w.append_tokens(0, 3);
  EXPECT_EQ(w.written, 0U);
  EXPECT_EQ(w.ledger.find(kStream), nullptr);
  w.work();
  EXPECT_EQ(w.written, 4U);
  EXPECT_EQ(w.ledger.find(kStream)->tokens.size(), 3U);
}

TEST(Disk, AfterTheDeathOfAProcessAllThatWasWrittenIsThere) {
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Written w{Sync::none, seed};
    w.append_tokens(0, 8);
    w.work(static_cast<int>(seed % 4));
    const Entry* before = w.ledger.find(kStream);
    const std::size_t tokens = before == nullptr ? 0 : before->tokens.size();
    w.disk.on_process_death();
    const auto recovery = w.disk.open();
    ASSERT_TRUE(recovery) << recovery.error().detail;
    w.ledger.compare(*recovery);
    ASSERT_EQ(w.world.violation(), std::nullopt) << seed;
    const std::size_t left =
        recovery->streams.empty() ? 0 : recovery->streams[0].state.tokens.ids.size();
    EXPECT_GE(left, tokens);
    torn = torn || recovery->bytes_cut > 0;
  }
  EXPECT_TRUE(torn);
}

TEST(Disk, WhatWasSyncedSurvivesAPowerLoss) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Written w{Sync::always, seed};
    w.append_tokens(0, 8);
    w.work(static_cast<int>(seed % 8));
    const Entry* before = w.ledger.find(kStream);
    const std::size_t tokens = before == nullptr ? 0 : before->tokens.size();
    w.disk.on_power_loss();
    const auto recovery = w.disk.open();
    ASSERT_TRUE(recovery) << recovery.error().detail;
    w.ledger.compare(*recovery);
    EXPECT_FALSE(recovery->lost_tail);
    ASSERT_EQ(w.world.violation(), std::nullopt) << seed;
    if (tokens == 0) continue;
    EXPECT_GE(recovery->streams.at(0).state.tokens.ids.size(), tokens);
  }
}

TEST(Disk, APowerLossTakesWhatWasNotSynced) {
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Written w{Sync::none, seed};
    w.append_tokens(0, 8);
    w.work();
    w.disk.on_power_loss();
    const auto recovery = w.disk.open();
    ASSERT_TRUE(recovery) << recovery.error().detail;
    w.ledger.compare(*recovery);
    ASSERT_EQ(w.world.violation(), std::nullopt) << seed;
    lost = lost || recovery->streams.empty() || recovery->streams[0].state.tokens.ids.size() < 8;
  }
  EXPECT_TRUE(lost);
}

TEST(Disk, WhileItIsFullNothingIsWrittenAndThenAllOfIt) {
  Written w{Sync::none};
  w.work();
  w.disk.fill_until(w.world.now() + std::chrono::seconds{2});
  w.append_tokens(0, 8);
  w.work(2);
  EXPECT_EQ(w.stalls, 1);
  EXPECT_EQ(w.written, 1U);
  w.work();
  EXPECT_EQ(w.stalls, 1);
  EXPECT_EQ(w.flows, 1);
  EXPECT_EQ(w.written, 9U);
  EXPECT_EQ(w.ledger.find(kStream)->tokens.size(), 8U);
}

TEST(Disk, InOrderNothingIsLostWithThePower) {
  Written w{Sync::none};
  w.append_tokens(0, 8);
  w.disk.finish();
  w.disk.on_power_loss();
  const auto recovery = w.disk.open();
  ASSERT_TRUE(recovery);
  EXPECT_FALSE(recovery->lost_tail);
  EXPECT_EQ(recovery->streams.at(0).state.tokens.ids.size(), 8U);
}

}  // namespace
}  // namespace seedance::sim
