#include "store/segment_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/test_directory.h"
#include "store/journal_check.h"
#include "store/test_files.h"
#include "store/test_records.h"

namespace seedance::store {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimePoint kStart{1h};

class SegmentWriterTest : public testing::Test {
 protected:
  SegmentWriter& open(Sync sync) {
    options_ = {.directory = directory_.path(),
                .sync = sync,
                .sync_interval = 100ms,
                .segment_reserve_bytes = 4096,
                .unsynced_bytes_max = unsynced_bytes_max_,
                .boot = kTestBoot};
    writer_.emplace(options_, files_, metrics_, std::set<std::uint32_t>{});
    return *writer_;
  }
  void append(std::uint64_t batch, std::uint32_t segment) {
    writer_->append(test_batch(batch, segment), kStart);
  }
  void append(std::uint64_t first, std::uint64_t last, std::uint32_t segment) {
    for (std::uint64_t batch = first; batch <= last; ++batch) append(batch, segment);
  }
  std::vector<JournalEvent> turn(TimePoint now) {
    writer_->turn(now);
    return std::exchange(writer_->events(), {});
  }
  std::uint64_t recovered() const { return batches_in(directory_.path()).value_or(0); }
  std::vector<std::string> names() const { return *io::list_directory(directory_.path()); }
  SegmentCheck check(std::uint32_t segment) const {
    const auto bytes = io::read_file(segment_path(directory_.path(), segment));
    return check_segment(segment, as_bytes(*bytes));
  }

  io::TestDirectory directory_;
  FaultyFiles files_;
  JournalMetrics metrics_;
  JournalOptions options_;
  std::uint64_t unsynced_bytes_max_ = 1 << 20;
  std::optional<SegmentWriter> writer_;
};

const Stalled* stalled(const std::vector<JournalEvent>& events) {
  for (const JournalEvent& event : events) {
    if (const auto* found = std::get_if<Stalled>(&event)) return found;
  }
  return nullptr;
}

TEST_F(SegmentWriterTest, WritesAllThatWaitsAtOnce) {
  open(Sync::none);
  append(1, 1);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{1}));
  const std::uint64_t writes = files_.writes();
  append(2, 9, 1);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{9}));
  EXPECT_EQ(files_.writes(), writes + 1);
  EXPECT_EQ(writer_->deadline(), kNever);
  EXPECT_EQ(recovered(), 9U);
  EXPECT_THAT(turn(kStart), IsEmpty());
}

TEST_F(SegmentWriterTest, NeverSyncsWhenNotToldTo) {
  open(Sync::none);
  append(1, 3, 1);
  append(4, 6, 2);
  turn(kStart);
  EXPECT_EQ(files_.syncs(), 0U);
  EXPECT_EQ(metrics_.syncs.value(), 0U);
  EXPECT_EQ(writer_->deadline(), kNever);
}

TEST_F(SegmentWriterTest, GoesOnInTheNextSegment) {
  open(Sync::none);
  append(1, 2, 1);
  append(3, 4, 2);
  append(5, 5, 3);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{2}, Written{4}, Written{5}));
  EXPECT_THAT(names(),
              ElementsAre("0000000001.journal", "0000000002.journal", "0000000003.journal"));
  EXPECT_EQ(recovered(), 5U);
  EXPECT_EQ(metrics_.segments.value(), 3);
}

TEST_F(SegmentWriterTest, CompletesShortWrites) {
  open(Sync::none);
  files_.take_at_most(7);
  append(1, 5, 1);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{5}));
  EXPECT_EQ(recovered(), 5U);
  EXPECT_EQ(metrics_.bytes.value(), check(1).sound_bytes);
}

TEST_F(SegmentWriterTest, RemovesSegmentsAlsoTheLast) {
  open(Sync::none);
  append(1, 2, 1);
  append(3, 3, 2);
  writer_->append(test_copy(3, 2), kStart);
  turn(kStart);
  writer_->remove(1);
  EXPECT_THAT(turn(kStart), IsEmpty());
  EXPECT_THAT(names(), ElementsAre("0000000002.journal"));
  EXPECT_EQ(recovered(), 3U);
  writer_->remove(2);
  turn(kStart);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(metrics_.segments.value(), 0);
  append(1, 1, 3);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{1}));
}

TEST_F(SegmentWriterTest, RemovesTheOldestFirstEvenWhenItCannotAtOnce) {
  open(Sync::none);
  append(1, 2, 1);
  append(3, 3, 2);
  writer_->append(test_copy(4, 3), kStart);
  turn(kStart);
  files_.fail_removes(true);
  writer_->remove(1);
  turn(kStart);
  EXPECT_EQ(names().size(), 3U);
  writer_->remove(2);
  turn(kStart);
  EXPECT_EQ(names().size(), 3U);
  files_.fail_removes(false);
  turn(kStart);
  EXPECT_THAT(names(), ElementsAre("0000000003.journal"));
}

TEST_F(SegmentWriterTest, SyncsOnceInAnInterval) {
  open(Sync::interval);
  append(1, 2, 1);
  EXPECT_THAT(turn(kStart), ElementsAre(Written{2}));
  const std::uint64_t syncs = files_.syncs();  // Of the new file.
  EXPECT_EQ(writer_->deadline(), kStart + 100ms);
  append(3, 3, 1);
  EXPECT_THAT(turn(kStart + 50ms), ElementsAre(Written{3}));
  EXPECT_EQ(files_.syncs(), syncs);
  EXPECT_EQ(writer_->deadline(), kStart + 100ms);
  EXPECT_THAT(turn(kStart + 100ms), IsEmpty());
  EXPECT_EQ(files_.syncs(), syncs + 1);
  EXPECT_EQ(writer_->deadline(), kNever);
  EXPECT_EQ(metrics_.syncs.value(), files_.syncs());
}

TEST_F(SegmentWriterTest, MarksWhatIsOnTheDisk) {
  open(Sync::interval);
  append(1, 2, 1);
  turn(kStart);
  EXPECT_EQ(check(1).records, 1 + 2 * kTestStreams);  // All before the segment is.
  turn(kStart + 1s);
  append(3, 3, 1);
  turn(kStart + 1s);
  EXPECT_EQ(check(1).records, 2 + 3 * kTestStreams);
  append(4, 4, 1);
  turn(kStart + 1s);
  EXPECT_EQ(check(1).records, 2 + 4 * kTestStreams);
  EXPECT_EQ(recovered(), 4U);
}

TEST_F(SegmentWriterTest, SyncsBeforeItSaysWrittenWhenTold) {
  open(Sync::always);
  files_.fail_syncs(true);
  append(1, 1, 1);
  auto events = turn(kStart);
  ASSERT_TRUE(stalled(events));
  EXPECT_EQ(events.size(), 1U);
  files_.fail_syncs(false);
  EXPECT_THAT(turn(kStart + 1s), ElementsAre(Written{1}, Flows{}));
  const std::uint64_t syncs = files_.syncs();
  append(2, 9, 1);
  EXPECT_THAT(turn(kStart + 1s), ElementsAre(Written{9}));
  EXPECT_EQ(files_.syncs(), syncs + 1);
}

TEST_F(SegmentWriterTest, RemovesWhatIsReplacedOnlyWhenTheReplacementIsOnTheDisk) {
  open(Sync::interval);
  append(1, 2, 1);
  turn(kStart);
  writer_->append(test_copy(2, 2), kStart);
  turn(kStart);
  writer_->remove(1);
  turn(kStart);
  EXPECT_EQ(names().size(), 2U);
  turn(kStart + 100ms);
  EXPECT_THAT(names(), ElementsAre("0000000002.journal"));
}

TEST_F(SegmentWriterTest, SyncsEarlyWhenMuchIsNotOnTheDisk) {
  unsynced_bytes_max_ = 2000;
  open(Sync::interval);
  append(1, 1, 1);
  turn(kStart);
  const std::uint64_t syncs = files_.syncs();
  std::uint64_t bytes = 0;
  for (std::uint64_t batch = 2; batch < 50; ++batch) bytes += test_batch(batch, 1).bytes.size();
  append(2, 49, 1);
  EXPECT_EQ(std::get<Written>(turn(kStart).back()), Written{49});
  EXPECT_GE(files_.syncs(), syncs + bytes / 4000);
  EXPECT_EQ(recovered(), 49U);
}

TEST_F(SegmentWriterTest, StallsOnceAndTriesAgainInOrder) {
  open(Sync::none);
  append(1, 1, 1);
  turn(kStart);
  files_.fail_writes(true);
  append(2, 2, 1);
  const auto events = turn(kStart);
  const Stalled* said = stalled(events);
  ASSERT_TRUE(said);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(said->problem.code, ErrorCode::overloaded);
  const std::uint64_t bytes = test_batch(2, 1).bytes.size();
  EXPECT_THAT(said->problem.numbers,
              ElementsAre(Problem::Number{"journal_bytes_waiting", static_cast<int>(bytes)}));
  EXPECT_THAT(said->problem.message, testing::Not(HasSubstr(directory_.path())));
  EXPECT_THAT(said->detail, HasSubstr("0000000001.journal: No space left on device"));
  EXPECT_THAT(said->detail, HasSubstr(std::to_string(bytes) + " bytes wait"));
  EXPECT_EQ(writer_->deadline(), kStart + 500ms);
  EXPECT_EQ(metrics_.stalls.value(), 1U);
  EXPECT_EQ(metrics_.stalled.value(), 1);

  const std::uint64_t calls = files_.calls();
  append(3, 3, 1);
  EXPECT_THAT(turn(kStart + 499ms), IsEmpty());
  EXPECT_EQ(files_.calls(), calls);
  EXPECT_THAT(turn(kStart + 500ms), IsEmpty());
  EXPECT_GT(files_.calls(), calls);
  files_.fail_writes(false);
  EXPECT_THAT(turn(kStart + 1s), ElementsAre(Written{3}, Flows{}));
  EXPECT_EQ(metrics_.stalled.value(), 0);
  EXPECT_EQ(recovered(), 3U);
}

TEST_F(SegmentWriterTest, KeepsTheWholeBatchesOfAWriteThatFailed) {
  open(Sync::none);
  append(1, 1, 1);
  turn(kStart);
  const std::size_t three = test_batch(2, 1).bytes.size() * 3;
  append(2, 7, 1);  // Six alike: the first call takes half of them and of a record more.
  files_.take_at_most(three + 10);
  files_.fail(files_.calls() + 1, 1, FaultyFiles::Harm::nothing);
  const auto events = turn(kStart);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events.front(), JournalEvent{Written{4}});
  EXPECT_TRUE(stalled(events));
  EXPECT_EQ(check(1).problem, std::nullopt);
  EXPECT_EQ(recovered(), 4U);
  EXPECT_THAT(turn(kStart + 500ms), ElementsAre(Written{7}, Flows{}));
  EXPECT_EQ(recovered(), 7U);
}

TEST_F(SegmentWriterTest, WritesNothingBehindARemainderThatItCannotCutOff) {
  open(Sync::none);
  append(1, 1, 1);
  turn(kStart);
  files_.fail(files_.calls(), 1, FaultyFiles::Harm::half);
  files_.fail_truncates(true);
  append(2, 2, 1);
  EXPECT_TRUE(stalled(turn(kStart)));
  EXPECT_TRUE(check(1).problem);
  const std::uint64_t writes = files_.writes();
  EXPECT_THAT(turn(kStart + 500ms), IsEmpty());
  EXPECT_EQ(files_.writes(), writes);
  files_.fail_truncates(false);
  EXPECT_THAT(turn(kStart + 1s), ElementsAre(Written{2}, Flows{}));
  EXPECT_EQ(check(1).problem, std::nullopt);
  EXPECT_EQ(recovered(), 2U);
}

TEST_F(SegmentWriterTest, WritesAgainWhatAFailedSyncMayHaveLost) {
  open(Sync::interval);
  append(1, 2, 1);
  turn(kStart);
  turn(kStart + 100ms);
  append(3, 5, 1);
  EXPECT_THAT(turn(kStart + 200ms), ElementsAre(Written{5}));
  files_.drop_pages();
  files_.fail(files_.calls(), 1, FaultyFiles::Harm::nothing);
  EXPECT_TRUE(stalled(turn(kStart + 300ms)));
  EXPECT_TRUE(check(1).problem);
  append(6, 6, 1);
  EXPECT_THAT(turn(kStart + 800ms), ElementsAre(Written{6}, Flows{}));
  EXPECT_EQ(check(1).problem, std::nullopt);
  EXPECT_EQ(recovered(), 6U);
  EXPECT_THAT(names(), ElementsAre("0000000001.journal"));
}

TEST_F(SegmentWriterTest, StaysStalledWhenWhatWasOnTheDiskIsDamaged) {
  open(Sync::interval);
  append(1, 2, 1);
  turn(kStart);
  turn(kStart + 100ms);
  append(3, 3, 1);
  turn(kStart + 200ms);
  files_.fail_syncs(true);
  turn(kStart + 300ms);
  files_.fail_syncs(false);
  const std::string path = segment_path(directory_.path(), 1);
  auto text = *io::read_file(path);
  const io::SystemFiles system;
  text[100] = static_cast<char>(text[100] ^ 1);
  auto file = files_.create(path);
  ASSERT_TRUE(file);
  const std::vector<std::string_view> pieces{text};
  ASSERT_TRUE(files_.write(*file, pieces));
  EXPECT_THAT(turn(kStart + 800ms), IsEmpty());
  EXPECT_EQ(metrics_.stalled.value(), 1);
  EXPECT_EQ(*io::read_file(path), text);
  const auto finished = writer_->finish(kStart + 800ms);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, Errc::corrupt);
}

TEST_F(SegmentWriterTest, SyncsOnTimeWhileWritesFail) {
  open(Sync::interval);
  append(1, 1, 1);
  turn(kStart);
  files_.fail_writes(true);
  append(2, 2, 1);
  EXPECT_TRUE(stalled(turn(kStart + 10ms)));
  EXPECT_EQ(writer_->deadline(), kStart + 100ms);
  const std::uint64_t syncs = files_.syncs();
  EXPECT_THAT(turn(kStart + 100ms), IsEmpty());
  EXPECT_EQ(files_.syncs(), syncs + 1);
  EXPECT_EQ(writer_->deadline(), kStart + 510ms);
}

TEST_F(SegmentWriterTest, FinishingBringsEverythingToTheDisk) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    const io::TestDirectory directory;
    FaultyFiles files;
    const JournalOptions options{
        .directory = directory.path(), .sync = sync, .segment_reserve_bytes = 0, .boot = kTestBoot};
    SegmentWriter writer{options, files, metrics_, {}};
    for (std::uint64_t batch = 1; batch <= 8; ++batch) {
      writer.append(test_batch(batch, batch < 5 ? 1 : 2), kStart);
    }
    ASSERT_TRUE(writer.finish(kStart));
    files.lose_power(FaultyFiles::Loss::zeros);
    EXPECT_EQ(batches_in(directory.path(), kOtherBoot), 8U);
  }
}

TEST_F(SegmentWriterTest, FinishingSaysWhatIsMissing) {
  open(Sync::none);
  append(1, 1, 1);
  turn(kStart);
  files_.fail_writes(true);
  append(2, 3, 1);
  turn(kStart);
  const auto finished = writer_->finish(kStart);
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().detail, HasSubstr("2 batches with"));
  EXPECT_THAT(finished.error().detail, HasSubstr("No space left on device"));
  EXPECT_EQ(recovered(), 1U);
}

}  // namespace
}  // namespace seedance::store
