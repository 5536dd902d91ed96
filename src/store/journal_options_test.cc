#include "store/journal_options.h"

#include <gtest/gtest.h>

namespace seedance::store {
namespace {

TEST(JournalOptions, SyncHasNames) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    EXPECT_EQ(parse_sync(name(sync)), sync);
  }
  EXPECT_EQ(name(Sync::interval), "interval");
  EXPECT_EQ(parse_sync(""), std::nullopt);
  EXPECT_EQ(parse_sync("Always"), std::nullopt);
}

TEST(JournalOptions, OnlySyncedBatchesAreMarked) {
  EXPECT_EQ(batch_bytes_extra(Sync::none), 0U);
  EXPECT_GT(batch_bytes_extra(Sync::interval), stream::kRecordHeaderBytes);
  EXPECT_EQ(batch_bytes_extra(Sync::always), batch_bytes_extra(Sync::interval));
}

TEST(BootIdOfTheMachine, IsTheSameUntilItStartsAgain) {
  const auto boot = read_boot_id();
  ASSERT_TRUE(boot);
  EXPECT_NE(*boot, stream::BootId{});
  EXPECT_EQ(*read_boot_id(), *boot);
}

TEST(BootIdOfTheMachine, IsReadFromItsText) {
  const stream::BootId expected{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
  EXPECT_EQ(parse_boot_id("01234567-89ab-cdef-fedc-ba9876543210"), expected);
  EXPECT_EQ(parse_boot_id("0123456789abcdeffedcba9876543210"), std::nullopt);
  EXPECT_EQ(parse_boot_id("01234567-89ab-cdef-fedc-ba987654321g"), std::nullopt);
  EXPECT_EQ(parse_boot_id("01234567-89ab-cdef-fedc-ba98765432-0"), std::nullopt);
  EXPECT_EQ(parse_boot_id(""), std::nullopt);
}

}  // namespace
}  // namespace seedance::store
