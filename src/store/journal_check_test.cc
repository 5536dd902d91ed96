#include "store/journal_check.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/test_directory.h"
#include "store/test_records.h"

namespace seedance::store {
namespace {

std::string segment(std::uint32_t number) {
  std::string bytes;
  stream::encode(stream::SegmentHeader{.segment = number, .boot = kTestBoot}, bytes);
  bytes += test_batch(1, number).bytes + test_batch(2, number).bytes;
  return bytes;
}

TEST(CheckSegment, FindsNothingInASoundOne) {
  const std::string bytes = segment(4);
  const SegmentCheck check = check_segment(4, as_bytes(bytes));
  EXPECT_EQ(check, (SegmentCheck{.number = 4,
                                 .bytes = bytes.size(),
                                 .sound_bytes = bytes.size(),
                                 .records = 2 * kTestStreams}));
}

TEST(CheckSegment, TellsACutFromDamage) {
  const std::string bytes = segment(4);
  const std::size_t first = stream::kSegmentHeaderBytes + test_batch(1, 4).bytes.size();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const SegmentCheck check = check_segment(4, as_bytes(bytes.substr(0, size)));
    EXPECT_LE(check.sound_bytes, size);
    if (check.sound_bytes == size) continue;
    ASSERT_TRUE(check.problem) << size;
    EXPECT_EQ(check.problem->code, Errc::truncated) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const SegmentCheck check = check_segment(4, as_bytes(damaged));
    ASSERT_TRUE(check.problem) << at;
    EXPECT_EQ(check.problem->code, Errc::corrupt) << at;
    EXPECT_LE(check.sound_bytes, at);
    if (at >= first) EXPECT_GE(check.sound_bytes, first);
  }
}

TEST(CheckSegment, KnowsItsNumber) {
  const std::string bytes = segment(4);
  const SegmentCheck check = check_segment(5, as_bytes(bytes));
  ASSERT_TRUE(check.problem);
  EXPECT_EQ(check.problem->code, Errc::corrupt);
  EXPECT_EQ(check.problem->detail, "it is segment 4");
}

TEST(CheckSegments, LooksAtAllOfADirectory) {
  const io::TestDirectory directory;
  std::ofstream{segment_path(directory.path(), 3)} << segment(3);
  std::ofstream{segment_path(directory.path(), 12)} << segment(12) << "x";
  std::ofstream{directory.path() + "/other"} << "x";
  const auto checks = check_segments(directory.path());
  ASSERT_TRUE(checks);
  ASSERT_EQ(checks->size(), 2U);
  EXPECT_EQ(checks->front().number, 3U);
  EXPECT_FALSE(checks->front().problem);
  EXPECT_EQ(checks->back().number, 12U);
  EXPECT_EQ(checks->back().problem->code, Errc::truncated);
  EXPECT_EQ(check_segments(directory.path() + "/missing").error().code, Errc::not_found);
}

}  // namespace
}  // namespace seedance::store
