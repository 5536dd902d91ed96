// Every call to the disk fails once, and the process or the machine dies after it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "io/test_directory.h"
#include "store/segment_writer.h"
#include "store/test_files.h"
#include "store/test_records.h"

namespace seedance::store {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBatches = 12;
constexpr std::uint64_t kBatchesPerSegment = 4;
constexpr std::uint64_t kCopied = 9;  // As a whole, so that what is before it can go.

std::uint32_t segment_of(std::uint64_t batch) {
  return static_cast<std::uint32_t>((batch - 1) / kBatchesPerSegment + 1);
}

struct Case {
  Sync sync;
  FaultyFiles::Harm harm;
};

// One journal from its beginning to its end, on a disk that can fail.
class Life {
 public:
  explicit Life(Sync sync)
      : options_{.directory = directory_.path(),
                 .sync = sync,
                 .sync_interval = 40ms,
                 .segment_reserve_bytes = 4096,
                 .unsynced_bytes_max = 1 << 20,
                 .boot = kTestBoot},
        writer_(options_, files_, metrics_, {}) {
    if (sync != Sync::none) files_.drop_pages();
  }

  // Hands over batch after batch, one or two at once, until the call `dies_at` was
  // made or all is done. False when it died.
  bool play(std::uint64_t dies_at) {
    for (std::uint64_t batch = 1; batch <= kBatches; ++batch) {
      writer_.append(batch == kCopied ? test_copy(batch, segment_of(batch))
                                      : test_batch(batch, segment_of(batch)),
                     now_);
      handed_over_ = batch;
      if (batch % 3 == 1 && batch < kBatches) continue;
      if (!turn(dies_at)) return false;
      if (written_ >= kCopied && !removed_) {
        for (std::uint32_t segment = 1; segment < segment_of(kCopied); ++segment) {
          writer_.remove(segment);
        }
        removed_ = true;
      }
    }
    for (int turns = 0; written_ < kBatches; ++turns) {
      EXPECT_LT(turns, 10) << "it does not get over a failure";
      if (turns == 10) return true;
      now_ += 500ms;
      if (!turn(dies_at)) return false;
    }
    finished_ = writer_.finish(now_);
    return files_.calls() <= dies_at;
  }

  bool turn(std::uint64_t dies_at) {
    now_ += 15ms;
    writer_.turn(now_);
    for (const JournalEvent& event : writer_.events()) {
      if (const auto* written = std::get_if<Written>(&event)) {
        EXPECT_GT(written->batch, written_);
        written_ = written->batch;
      }
      if (std::holds_alternative<Stalled>(event)) ++stalls_;
      if (std::holds_alternative<Flows>(event)) --stalls_;
      EXPECT_THAT(stalls_, testing::AllOf(testing::Ge(0), testing::Le(1)));
    }
    writer_.events().clear();
    if (writer_.deadline() == kNever) on_disk_ = written_;
    return files_.calls() <= dies_at;
  }

  io::TestDirectory directory_;
  FaultyFiles files_;
  JournalMetrics metrics_;
  JournalOptions options_;
  SegmentWriter writer_;
  TimePoint now_{1h};
  std::uint64_t handed_over_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t on_disk_ = 0;
  int stalls_ = 0;
  bool removed_ = false;
  Result<void> finished_;
};

class JournalFailure : public testing::TestWithParam<Case> {};

TEST_P(JournalFailure, AnyCallMayFailOnceAndNothingIsMissing) {
  for (std::uint64_t failing = 0;; ++failing) {
    SCOPED_TRACE(failing);
    Life life{GetParam().sync};
    life.files_.fail(failing, 1, GetParam().harm);
    life.play(UINT64_MAX);
    EXPECT_EQ(life.written_, kBatches);
    EXPECT_EQ(batches_in(life.directory_.path()), kBatches);
    EXPECT_EQ(life.stalls_, 0);
    if (life.files_.calls() > failing) continue;
    EXPECT_TRUE(life.finished_);
    EXPECT_GT(failing, 10U);
    return;
  }
}

// From the failing call on none succeeds: what was said to be written is there.
TEST_P(JournalFailure, TheProcessMayDieAtAnyCall) {
  for (std::uint64_t failing = 0;; ++failing) {
    SCOPED_TRACE(failing);
    Life life{GetParam().sync};
    life.files_.fail(failing, UINT64_MAX, GetParam().harm);
    const bool survived = life.play(failing);
    if (survived) return;
    const auto contents = read_journal(life.directory_.path(), kTestBoot);
    if (!contents) {
      // Nothing else helps where the pages went and the process with its memory.
      EXPECT_GT(life.files_.failed_syncs(), 0U) << contents.error().detail;
      EXPECT_EQ(contents.error().code, Errc::corrupt);
      continue;
    }
    const std::uint64_t recovered = batches_in(contents->recovery);
    EXPECT_GE(recovered, life.written_);
    EXPECT_LE(recovered, life.handed_over_);
  }
}

TEST_P(JournalFailure, TheMachineMayGoDownAtAnyCall) {
  if (GetParam().sync == Sync::none) return;
  for (const auto loss : {FaultyFiles::Loss::zeros, FaultyFiles::Loss::cut}) {
    for (std::uint64_t failing = 0;; ++failing) {
      SCOPED_TRACE(failing);
      Life life{GetParam().sync};
      life.files_.fail(failing, UINT64_MAX, GetParam().harm);
      const bool survived = life.play(failing);
      life.files_.lose_power(loss);
      const auto recovered = batches_in(life.directory_.path(), kOtherBoot);
      ASSERT_TRUE(recovered);
      EXPECT_GE(*recovered, GetParam().sync == Sync::always ? life.written_ : life.on_disk_);
      EXPECT_LE(*recovered, life.handed_over_);
      if (survived) break;
    }
  }
}

// A journal that filled its disk: what a core does with it from there on.
class FullDisk {
 public:
  explicit FullDisk(Sync sync)
      : options_{.directory = directory_.path(), .sync = sync, .boot = kTestBoot} {
    files_.hold_at_most(20'000);
    start();
  }

  // A server that goes on with what is there.
  void start() {
    const auto contents = read_journal(options_.directory, kTestBoot);
    ASSERT_TRUE(contents) << contents.error().detail;
    std::set<std::uint32_t> segments;
    for (const SegmentFile& segment : contents->segments) segments.insert(segment.number);
    ASSERT_TRUE(cut(files_, options_.directory, *contents));
    journal_.emplace(stream::JournalLimits{.segment_bytes = 2000,
                                           .batch_bytes_extra = batch_bytes_extra(options_.sync)},
                     contents->recovery);
    writer_.emplace(options_, files_, metrics_, std::move(segments));
    streams_.clear();
    for (const auto& stream : contents->recovery.streams) {
      streams_.push_back(stream.state.header.stream);
    }
  }

  void fill() {
    for (std::uint64_t stream = 1; metrics_.stalled.value() == 0; ++stream) {
      ASSERT_LT(stream, 1000U);
      journal_->put(test_state(stream, 20));
      streams_.push_back(test_stream(stream));
      turn();
    }
  }

  void forget_all() {
    for (const StreamId stream : streams_) journal_->forget(stream);
    for (int turns = 0; turns < 100 && journal_->segments() > 1; ++turns) turn();
  }

  void turn() {
    if (auto write = journal_->take()) writer_->append(*std::move(write), now_);
    for (const std::uint32_t segment : journal_->removable()) writer_->remove(segment);
    writer_->turn(now_);
    for (const JournalEvent& event : std::exchange(writer_->events(), {})) {
      if (const auto* written = std::get_if<Written>(&event)) journal_->on_written(written->batch);
    }
    now_ += 500ms;
  }

  const io::TestDirectory directory_;
  FaultyFiles files_;
  JournalMetrics metrics_;
  const JournalOptions options_;
  std::optional<stream::Journal> journal_;
  std::optional<SegmentWriter> writer_;
  std::vector<StreamId> streams_;
  TimePoint now_{1h};
};

TEST(JournalFullDisk, IsFreedByWhatIsForgotten) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    for (const bool restarted : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", name(sync), restarted));
      FullDisk disk{sync};
      disk.fill();
      EXPECT_GT(disk.journal_->segments(), 5U);
      if (restarted) disk.start();
      EXPECT_GT(disk.streams_.size(), 5U);
      disk.forget_all();
      disk.turn();
      EXPECT_LE(disk.journal_->segments(), 1U);
      EXPECT_EQ(disk.metrics_.stalled.value(), 0);
      disk.journal_->put(test_state(2000, 20));
      disk.turn();
      const auto contents = read_journal(disk.options_.directory, kTestBoot);
      ASSERT_TRUE(contents) << contents.error().detail;
      ASSERT_EQ(contents->recovery.streams.size(), 1U);
      EXPECT_EQ(contents->recovery.streams.front().state, test_state(2000, 20));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, JournalFailure,
                         testing::Values(Case{Sync::none, FaultyFiles::Harm::nothing},
                                         Case{Sync::none, FaultyFiles::Harm::half},
                                         Case{Sync::interval, FaultyFiles::Harm::nothing},
                                         Case{Sync::interval, FaultyFiles::Harm::half},
                                         Case{Sync::always, FaultyFiles::Harm::nothing},
                                         Case{Sync::always, FaultyFiles::Harm::half}),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string{name(info.param.sync)} +
                                  (info.param.harm == FaultyFiles::Harm::half ? "_half"
                                                                              : "_nothing");
                         });

}  // namespace
}  // namespace seedance::store
