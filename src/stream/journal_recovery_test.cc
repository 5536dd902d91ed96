#include "stream/journal_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

using testing::HasSubstr;
using testing::Pair;
using Records = std::vector<JournalRecord>;
using Segments = std::vector<std::pair<std::uint32_t, std::string>>;

Result<Recovery> read(const Segments& segments, const BootId& boot = kBoot) {
  JournalReader reader{{.boot = boot}};
  for (const auto& [number, bytes] : segments) {
    const auto kept = reader.on_segment(number, as_bytes(bytes));
    if (!kept) return std::unexpected(kept.error());
    EXPECT_LE(*kept, bytes.size());
  }
  return reader.finish();
}

std::string failure(const Segments& segments, const BootId& boot = kBoot) {
  const auto recovery = read(segments, boot);
  EXPECT_FALSE(recovery);
  if (recovery) return "";
  EXPECT_EQ(recovery.error().code, Errc::corrupt);
  return recovery.error().detail;
}

std::vector<std::uint64_t> token_counts(const Recovery& recovery) {
  std::vector<std::uint64_t> counts;
  counts.reserve(recovery.streams.size());
  for (const RecoveredStream& stream : recovery.streams) {
    counts.push_back(stream.state.tokens.ids.size());
  }
  return counts;
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 4);
  return bytes;
}

std::size_t size_of(const Records& records) {
  return make_segment(1, records).size();
}

const JournalRecord kMark = SyncRecord{.boot = kBoot, .at = wall(5)};

TEST(JournalReader, FoldsRecordsIntoStreams) {
  const std::string first = make_segment(
      1, {make_state(2, 0, true), make_state(1, 3), make_state(3), make_record(1, 3),
          make_record(2, 0, 2, 1, true), make_drive(1, 2, DriveRecord::Cause::engine, 4)});
  const std::string second =
      make_segment(2, {kMark, make_record(1, 4, 2, 2), ForgetRecord{stream_id(3)},
                       make_end_record(2, FinishReason::length)});
  const auto recovery = read({{1, first}, {2, second}});
  ASSERT_TRUE(recovery) << recovery.error().detail;
  ASSERT_EQ(recovery->streams.size(), 2U);

  StateRecord one = make_state(1, 6);
  one.header.gen = {2};
  one.header.epoch = {4};
  EXPECT_EQ(recovery->streams[0].state, one);
  StateRecord two = make_state(2, 2, true);
  two.ended = make_end(FinishReason::length);
  EXPECT_EQ(recovery->streams[1].state, two);
  EXPECT_EQ(recovery->streams[1].segment, 1U);
  EXPECT_EQ(recovery->streams[1].bytes,
            size_of({make_state(2, 0, true), make_record(2, 0, 2, 1, true),
                     make_end_record(2, FinishReason::length)}) -
                kSegmentHeaderBytes);
  EXPECT_THAT(recovery->segments,
              testing::ElementsAre(Pair(1, first.size()), Pair(2, second.size())));
  EXPECT_EQ(recovery->next_segment(), 3U);
  EXPECT_EQ(recovery->bytes_cut, 0U);
  EXPECT_FALSE(recovery->lost_tail);
}

TEST(JournalReader, GivesAnEmptyRecoveryOfAnEmptyJournal) {
  const auto recovery = read({});
  ASSERT_TRUE(recovery);
  EXPECT_TRUE(recovery->streams.empty());
  EXPECT_EQ(recovery->next_segment(), 1U);
  EXPECT_FALSE(recovery->lost_tail);
}

TEST(JournalReader, TakesANewerStateInsteadOfWhatCameBefore) {
  StateRecord copied = make_state(1, 5);
  copied.header.gen = {3};
  const auto recovery = read({{4, make_segment(4, {make_state(1), make_record(1, 0, 5)})},
                              {5, make_segment(5, {copied, make_record(1, 5, 1, 3)})}});
  ASSERT_TRUE(recovery);
  ASSERT_EQ(recovery->streams.size(), 1U);
  copied.tokens = make_tokens(0, 6);
  EXPECT_EQ(recovery->streams[0].state, copied);
  EXPECT_EQ(recovery->streams[0].segment, 5U);
  EXPECT_EQ(recovery->streams[0].bytes,
            size_of({make_state(1, 5), make_record(1, 5, 1)}) - kSegmentHeaderBytes);
}

TEST(JournalReader, CountsServerStartsSinceTheLastToken) {
  Records records = {make_state(1), make_drive(1, 2), make_drive(1, 3, DriveRecord::Cause::engine),
                     make_drive(1, 4)};
  const auto starts = [&records] {
    const auto recovery = read({{1, make_segment(1, records)}});
    return recovery ? recovery->streams.at(0).state.server_starts : 99;
  };
  EXPECT_EQ(starts(), 2U);
  records.emplace_back(make_record(1, 0, 0, 4));  // Without a token.
  EXPECT_EQ(starts(), 2U);
  records.emplace_back(make_record(1, 0, 1, 4));
  EXPECT_EQ(starts(), 0U);
  records.emplace_back(make_drive(1, 4));
  EXPECT_EQ(starts(), 1U);
  StateRecord copied = make_state(1, 1);
  copied.header.gen = {4};
  copied.server_starts = 7;
  records.emplace_back(copied);
  records.emplace_back(make_drive(1, 5));
  EXPECT_EQ(starts(), 8U);
}

TEST(JournalReader, DropsTheRecordThatADyingProcessCutOff) {
  const Records whole = {make_state(1), make_record(1, 0)};
  Records more = whole;
  more.emplace_back(make_record(1, 1, 3));
  const std::size_t end = size_of(whole);
  const std::string bytes = make_segment(1, more);
  for (std::size_t size = end; size < bytes.size(); ++size) {
    JournalReader reader{{.boot = kBoot}};
    EXPECT_EQ(reader.on_segment(1, as_bytes(bytes).first(size)), end);
    const Recovery recovery = reader.finish();
    EXPECT_THAT(token_counts(recovery), testing::ElementsAre(1));
    EXPECT_THAT(recovery.segments, testing::ElementsAre(Pair(1, end)));
    EXPECT_EQ(recovery.bytes_cut, size - end);
    EXPECT_FALSE(recovery.lost_tail);
  }
}

TEST(JournalReader, DropsTheSegmentThatADyingProcessBegan) {
  const std::string next = make_segment(2, {});
  for (std::size_t size = 0; size < kSegmentHeaderBytes; ++size) {
    JournalReader reader{{.boot = kBoot}};
    EXPECT_TRUE(reader.on_segment(1, as_bytes(make_segment(1, {make_state(1)}))));
    EXPECT_EQ(reader.on_segment(2, as_bytes(next).first(size)), 0U);
    const Recovery recovery = reader.finish();
    EXPECT_EQ(recovery.next_segment(), 2U);
    EXPECT_EQ(recovery.bytes_cut, size);
  }
}

TEST(JournalReader, FailsOnDamageAnywhereInTheSameBoot) {
  const std::string bytes = make_segment(7, {make_state(1), make_record(1, 0), make_record(1, 1)});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_THAT(failure({{7, flipped(bytes, at)}}), HasSubstr("0000000007.journal, byte ")) << at;
  }
  const std::size_t second = size_of({make_state(1)});
  EXPECT_THAT(failure({{7, flipped(bytes, second + 20)}}),
              HasSubstr("byte " + std::to_string(second) + ": the checksum"));
}

TEST(JournalReader, FailsWhenASegmentIsMissingOrAnother) {
  const std::string one = make_segment(1, {make_state(1)});
  EXPECT_THAT(failure({{1, one}, {3, make_segment(3, {})}}),
              HasSubstr("0000000002.journal, byte 0: the segment is missing"));
  EXPECT_THAT(failure({{2, one}}), HasSubstr("the header of segment 1"));
}

struct Contradiction {
  std::string_view what;
  Records records;
};

std::vector<Contradiction> contradictions() {
  StateRecord older_epoch = make_state(1);
  older_epoch.header.epoch = {0};
  StateRecord older_gen = make_state(1);
  older_gen.header.gen = {0};
  return {
      {"do not follow", {make_state(1, 3), make_record(1, 2)}},
      {"do not follow", {make_state(1, 3), make_record(1, 4)}},
      {"another gen", {make_state(1), make_record(1, 0, 1, 2)}},
      {"another gen", {make_state(1), make_drive(1, 2), make_record(1, 0)}},
      {"another gen", {make_state(1), make_drive(1, 2), make_end_record(1)}},
      {"older gen", {make_state(1), make_drive(1, 2), make_drive(1, 1)}},
      {"older gen", {make_state(1), older_gen}},
      {"older gen or epoch", {make_state(1), older_epoch}},
      {"older gen or epoch",
       {make_state(1), make_drive(1, 2, DriveRecord::Cause::engine, 2), make_drive(1, 3)}},
      {"has ended", {make_state(1), make_end_record(1), make_record(1, 0)}},
      {"has ended", {make_state(1), make_end_record(1), make_end_record(1)}},
      {"has ended", {make_state(1), make_end_record(1), make_drive(1, 2)}},
      {"without the end", {make_state(1), make_end_record(1), make_state(1)}},
      {"fewer tokens", {make_state(1, 3), make_state(1, 2)}},
      {"logprobs", {make_state(1), make_record(1, 0, 1, 1, true)}},
      {"logprobs", {make_state(1, 0, true), make_record(1, 0)}},
      {"not there", {make_record(1, 0)}},
      {"not there", {make_end_record(1)}},
      {"not there", {make_drive(1, 2)}},
      {"not there", {ForgetRecord{stream_id(1)}}},
      {"another boot", {SyncRecord{.boot = kOtherBoot}}},
  };
}

TEST(JournalReader, FailsOnRecordsThatContradictEachOther) {
  for (const auto& [what, records] : contradictions()) {
    EXPECT_THAT(failure({{1, make_segment(1, records)}}), HasSubstr(what));
  }
}

TEST(JournalReader, CutsAtAContradictionInAnotherBoot) {
  for (auto& [what, records] : contradictions()) {
    const std::string bytes = make_segment(1, records);
    records.pop_back();
    JournalReader reader{{.boot = kOtherBoot}};
    EXPECT_EQ(reader.on_segment(1, as_bytes(bytes)), size_of(records)) << what;
    EXPECT_TRUE(reader.finish().lost_tail);
  }
}

// Segments go oldest first, so that a stream's state can be gone before its other
// records are.
TEST(JournalReader, PassesOverRecordsWhoseStateIsInASegmentThatIsGone) {
  const Records rest = {make_record(1, 7), make_drive(1, 2), make_end_record(2),
                        ForgetRecord{stream_id(3)}, make_record(4, 1, 2, 9)};
  const auto skipped = read({{2, make_segment(2, rest)}});
  ASSERT_TRUE(skipped) << skipped.error().detail;
  EXPECT_TRUE(skipped->streams.empty());

  Records copied = rest;
  copied.emplace_back(make_state(1, 8));
  copied.emplace_back(make_record(1, 8));
  const auto recovery = read({{2, make_segment(2, copied)}});
  ASSERT_TRUE(recovery) << recovery.error().detail;
  EXPECT_THAT(token_counts(*recovery), testing::ElementsAre(9));
  EXPECT_EQ(recovery->streams[0].state.server_starts, 0U);

  copied.emplace_back(make_record(3, 0));
  EXPECT_THAT(failure({{2, make_segment(2, copied)}}), HasSubstr("not there"));
}

// Another boot: power was lost.

TEST(JournalReaderAfterPowerLoss, SaysThatATailMayBeLost) {
  const Segments segments = {{1, make_segment(1, {make_state(1), make_record(1, 0)})}};
  const auto recovery = read(segments, kOtherBoot);
  ASSERT_TRUE(recovery);
  EXPECT_TRUE(recovery->lost_tail);
  EXPECT_EQ(recovery->bytes_cut, 0U);
  EXPECT_THAT(token_counts(*recovery), testing::ElementsAre(1));
}

// The epoch that a log gets after one power loss can be lost with the next one.
TEST(JournalReaderAfterPowerLoss, EachBootGivesOtherEpochs) {
  const Segments segments = {{1, make_segment(1, {make_state(1)})}};
  BootId third = kOtherBoot;
  ++third[15];
  const auto second = read(segments, kOtherBoot);
  const auto next = read(segments, third);
  ASSERT_TRUE(second && next);
  EXPECT_NE(second->epoch_step, next->epoch_step);
  EXPECT_GT(second->epoch_step, 0U);
}

TEST(JournalReaderAfterPowerLoss, CutsAtTheFirstDamageBehindTheLastMark) {
  const std::string first = make_segment(1, {make_state(1), make_record(1, 0), kMark});
  const Records safe = {make_record(1, 1), kMark};
  const std::size_t end = size_of(safe);
  const std::string second = make_segment(
      2, {make_record(1, 1), kMark, make_record(1, 2), make_record(1, 3), make_state(2)});
  const std::string third = make_segment(3, {make_record(2, 0)});
  const std::size_t record = size_of({make_record(1, 2)}) - kSegmentHeaderBytes;
  for (std::size_t at = end; at < end + record; ++at) {
    JournalReader reader{{.boot = kOtherBoot}};
    EXPECT_EQ(reader.on_segment(1, as_bytes(first)), first.size());
    EXPECT_EQ(reader.on_segment(2, as_bytes(flipped(second, at))), end) << at;
    EXPECT_EQ(reader.on_segment(3, as_bytes(third)), 0U);
    const Recovery recovery = reader.finish();
    EXPECT_THAT(token_counts(recovery), testing::ElementsAre(2));
    EXPECT_EQ(recovery.bytes_cut, second.size() - end + third.size());
    EXPECT_EQ(recovery.next_segment(), 3U);
    EXPECT_TRUE(recovery.lost_tail);
  }
}

TEST(JournalReaderAfterPowerLoss, CutsAtPagesThatNeverCame) {
  std::string bytes = make_segment(1, {make_state(1), make_record(1, 0)});
  const std::size_t end = bytes.size();
  bytes.append(5000, '\0');
  encode(make_record(1, 40), bytes);
  JournalReader reader{{.boot = kOtherBoot}};
  EXPECT_EQ(reader.on_segment(1, as_bytes(bytes)), end);
}

TEST(JournalReaderAfterPowerLoss, FailsOnDamageBeforeAMark) {
  const Records records = {make_state(1), make_record(1, 0), make_record(1, 1), kMark};
  const std::string bytes = make_segment(1, records);
  for (std::size_t at = kSegmentHeaderBytes; at < size_of({make_state(1), make_record(1, 0)});
       ++at) {
    EXPECT_THAT(failure({{1, flipped(bytes, at)}}, kOtherBoot), HasSubstr("before a sync mark"));
  }
  const std::string later = make_segment(2, {make_record(1, 1), kMark});
  const std::string damaged = flipped(make_segment(1, {make_state(1), make_record(1, 0)}), 100);
  EXPECT_THAT(failure({{1, damaged}, {2, later}}, kOtherBoot),
              HasSubstr("0000000002.journal is newer"));
  EXPECT_THAT(failure({{1, make_segment(1, {})}, {3, make_segment(3, {kMark})}}, kOtherBoot),
              HasSubstr("missing"));
}

TEST(JournalReaderAfterPowerLoss, TakesNoTextForAMark) {
  std::string forged;
  encode(SyncRecord{.boot = kOtherBoot, .at = wall(1)}, forged);
  StateRecord state = make_state(2);
  state.header.request = forged;
  const std::string bytes = make_segment(1, {make_state(1), make_record(1, 0), state});
  JournalReader reader{{.boot = kOtherBoot}};
  EXPECT_EQ(reader.on_segment(1, as_bytes(flipped(bytes, size_of({make_state(1)})))),
            size_of({make_state(1)}));
}

TEST(JournalReaderAfterPowerLoss, FailsOnDamageThatAnEarlierStartDidNotSee) {
  const std::string damaged = flipped(make_segment(1, {make_state(1), make_record(1, 0)}), 100);
  const std::string now = make_segment(2, {make_drive(1, 2)}, kOtherBoot);
  EXPECT_THAT(failure({{1, damaged}, {2, now}}, kOtherBoot),
              HasSubstr("0000000002.journal is newer"));
}

TEST(JournalReaderAfterPowerLoss, DropsASegmentWhoseFirstPageNeverCame) {
  const std::string first = make_segment(1, {make_state(1)});
  std::string second = make_segment(2, {make_record(1, 0)});
  second.replace(0, kSegmentHeaderBytes, std::string(kSegmentHeaderBytes, '\0'));
  JournalReader reader{{.boot = kOtherBoot}};
  EXPECT_EQ(reader.on_segment(1, as_bytes(first)), first.size());
  EXPECT_EQ(reader.on_segment(2, as_bytes(second)), 0U);
  EXPECT_EQ(reader.finish().bytes_cut, second.size());

  EXPECT_THAT(failure({{1, first}, {2, second}}, kBoot), HasSubstr("no segment"));
  EXPECT_THAT(failure({{1, first}, {2, flipped(make_segment(2, {}), 20)}}, kOtherBoot),
              HasSubstr("checksum"));
  // Of a first segment nobody knows in which boot it was written.
  EXPECT_THAT(failure({{2, second}}, kOtherBoot), HasSubstr("no segment"));
  const auto nothing = read({{1, std::string(8192, '\0')}}, kOtherBoot);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->segments.empty());
}

// The first start after the power loss died before it gave every stream a new epoch.
TEST(JournalReaderAfterPowerLoss, SaysSoUntilEveryStreamHasItsNewEpoch) {
  StateRecord ended = make_state(3);
  ended.ended = make_end(FinishReason::stop);
  const std::string before = make_segment(1, {make_state(1), make_state(2), ended});
  StateRecord renewed = make_state(1);
  renewed.header.epoch = {2};
  Records start = {renewed};
  const auto lost = [&] {
    const auto recovery = read({{1, before}, {2, make_segment(2, start, kOtherBoot)}}, kOtherBoot);
    EXPECT_TRUE(recovery) << recovery.error().detail;
    return recovery && recovery->lost_tail;
  };
  EXPECT_TRUE(lost());
  start.emplace_back(make_state(2));  // Copied forward, but not driven.
  EXPECT_TRUE(lost());
  start.emplace_back(make_drive(2, 2, DriveRecord::Cause::server, 2));
  EXPECT_FALSE(lost());
  start.emplace_back(make_state(4));
  EXPECT_FALSE(lost());
}

TEST(JournalReaderAfterPowerLoss, LosesNothingThatWasAlwaysSynced) {
  const Records safe = {kMark, make_state(1), kMark, make_record(1, 0)};
  Records more = safe;
  more.emplace_back(kMark);
  more.emplace_back(make_record(1, 1));
  const std::string bytes = make_segment(1, more, kBoot, true);
  const auto whole = read({{1, bytes}}, kOtherBoot);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->lost_tail);

  // The batch that was being written did not count yet.
  const std::size_t last = size_of(safe) + size_of({kMark}) - kSegmentHeaderBytes;
  JournalReader reader{{.boot = kOtherBoot}};
  EXPECT_EQ(reader.on_segment(1, as_bytes(flipped(bytes, last + 20))), last);
  EXPECT_FALSE(reader.finish().lost_tail);
  EXPECT_THAT(failure({{1, flipped(bytes, size_of({kMark}) + 20)}}, kOtherBoot),
              HasSubstr("before a sync mark"));

  const std::string unmarked = make_segment(1, {make_state(1), make_record(1, 0)}, kBoot, true);
  EXPECT_THAT(failure({{1, flipped(unmarked, unmarked.size() - 1)}}, kOtherBoot),
              HasSubstr("checksum"));
  const auto first_batch = read({{1, flipped(unmarked, kSegmentHeaderBytes)}}, kOtherBoot);
  ASSERT_TRUE(first_batch);
  EXPECT_TRUE(first_batch->streams.empty());
}

TEST(JournalReaderDeathTest, WantsSegmentsInOrder) {
  JournalReader reader{{.boot = kBoot}};
  ASSERT_TRUE(reader.on_segment(2, as_bytes(make_segment(2, {}))));
  EXPECT_DEATH((void)reader.on_segment(2, as_bytes(make_segment(2, {}))), "in the order");
}

}  // namespace
}  // namespace seedance::stream
