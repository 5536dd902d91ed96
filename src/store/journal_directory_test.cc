#include "store/journal_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/test_directory.h"
#include "store/test_files.h"
#include "store/test_records.h"

namespace seedance::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JournalDirectoryTest : public testing::Test {
 protected:
  // Segment `number` of this boot with batches [first, last].
  void write_segment(std::uint32_t number, std::uint64_t first, std::uint64_t last,
                     const stream::BootId& boot = kTestBoot) const {
    std::string bytes;
    stream::encode(stream::SegmentHeader{.segment = number, .boot = boot}, bytes);
    for (std::uint64_t batch = first; batch <= last; ++batch) {
      bytes += test_batch(batch, number).bytes;
    }
    std::ofstream{segment_path(path_, number)} << bytes;
  }
  void add(const std::string& path, const std::string& bytes) const {
    std::ofstream{path, std::ios::app} << bytes;
  }
  std::vector<std::string> names() const { return *io::list_directory(path_); }

  const io::TestDirectory directory_;
  const std::string& path_ = directory_.path();
  FaultyFiles files_;
};

TEST_F(JournalDirectoryTest, AnEmptyOneHoldsNothing) {
  const auto contents = read_journal(path_, kTestBoot);
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->segments, IsEmpty());
  EXPECT_THAT(contents->recovery.streams, IsEmpty());
  EXPECT_EQ(contents->recovery.next_segment(), 1U);
  EXPECT_EQ(read_journal(path_ + "/missing", kTestBoot).error().code, Errc::not_found);
}

TEST_F(JournalDirectoryTest, CutsWhatDoesNotCountAndLetsTheRestBe) {
  write_segment(1, 1, 3);
  write_segment(2, 4, 5);
  const std::string last = segment_path(path_, 2);
  add(last, test_batch(6, 2).bytes.substr(0, 10));
  add(segment_path(path_, 3), "seed");
  add(temporary_path(segment_path(path_, 3)), "x");
  add(path_ + "/notes.tmp", "not ours");
  const auto contents = read_journal(path_, kTestBoot);
  ASSERT_TRUE(contents);
  EXPECT_EQ(batches_in(contents->recovery), 5U);
  EXPECT_EQ(contents->recovery.bytes_cut, 14U);
  ASSERT_EQ(contents->segments.size(), 3U);
  EXPECT_EQ(contents->segments[1].bytes, contents->segments[1].bytes_kept + 10);
  EXPECT_EQ(contents->segments[2], (SegmentFile{.number = 3, .bytes = 4, .bytes_kept = 0}));
  EXPECT_EQ(names().size(), 5U);  // Nothing is changed by reading.

  ASSERT_TRUE(cut(files_, path_, *contents));
  EXPECT_THAT(names(), ElementsAre("0000000001.journal", "0000000002.journal", "notes.tmp"));
  const auto again = read_journal(path_, kTestBoot);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->recovery.bytes_cut, 0U);
  EXPECT_EQ(again->recovery.streams, contents->recovery.streams);
  const std::uint64_t calls = files_.calls();
  ASSERT_TRUE(cut(files_, path_, *again));
  EXPECT_EQ(files_.calls(), calls);
}

// Segments behind the damage of another boot go, and no cut that is interrupted brings
// them back.
TEST_F(JournalDirectoryTest, AnInterruptedCutLeavesNoGap) {
  for (std::uint64_t failing = 0;; ++failing) {
    write_segment(1, 1, 3, kOtherBoot);
    write_segment(2, 4, 5, kOtherBoot);
    write_segment(3, 6, 7, kOtherBoot);
    add(segment_path(path_, 1), std::string(40, '\0'));
    const auto contents = read_journal(path_, kTestBoot);
    ASSERT_TRUE(contents) << contents.error().detail;
    EXPECT_EQ(batches_in(contents->recovery), 3U);
    EXPECT_TRUE(contents->recovery.lost_tail);
    files_.fail(files_.calls() + failing, 1, FaultyFiles::Harm::nothing);
    const bool done = cut(files_, path_, *contents).has_value();
    EXPECT_EQ(batches_in(path_), 3U) << failing;
    if (!done) continue;
    EXPECT_GE(failing, 4U);
    EXPECT_THAT(names(), ElementsAre("0000000001.journal"));
    return;
  }
}

TEST_F(JournalDirectoryTest, DamageNamesTheFile) {
  write_segment(1, 1, 3);
  write_segment(2, 4, 5);
  auto bytes = *io::read_file(segment_path(path_, 1));
  bytes[200] = static_cast<char>(bytes[200] ^ 1);
  std::ofstream{segment_path(path_, 1)} << bytes;
  const auto contents = read_journal(path_, kTestBoot);
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().code, Errc::corrupt);
  EXPECT_THAT(contents.error().detail, HasSubstr(path_ + "/0000000001.journal"));
}

TEST_F(JournalDirectoryTest, ATailIsNotLostWhenTheJournalEndedInOrder) {
  write_segment(1, 1, 3, kOtherBoot);
  EXPECT_TRUE(read_journal(path_, kTestBoot)->recovery.lost_tail);
  EXPECT_FALSE(read_journal(path_, kTestBoot)->ended);
  ASSERT_TRUE(mark_ended(files_, path_));
  EXPECT_FALSE(read_journal(path_, kTestBoot)->recovery.lost_tail);
  EXPECT_TRUE(read_journal(path_, kTestBoot)->ended);
  ASSERT_TRUE(unmark_ended(files_, path_));
  EXPECT_TRUE(read_journal(path_, kTestBoot)->recovery.lost_tail);

  ASSERT_TRUE(mark_ended(files_, path_));
  add(segment_path(path_, 1), "x");  // That is no order.
  EXPECT_TRUE(read_journal(path_, kTestBoot)->recovery.lost_tail);
}

}  // namespace
}  // namespace seedance::store
