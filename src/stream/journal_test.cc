#include "stream/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::size_t size_of(const JournalRecord& record) {
  std::string out;
  encode(record, out);
  return out.size();
}

std::vector<JournalRecord> records_of(const std::optional<JournalWrite>& write) {
  std::vector<JournalRecord> records;
  Bytes rest = write ? as_bytes(write->bytes) : Bytes{};
  while (!rest.empty()) {
    auto decoded = decode_record(rest);
    EXPECT_TRUE(decoded);
    if (!decoded) return records;
    records.push_back(std::move(decoded->record));
    rest = rest.subspan(decoded->bytes);
  }
  return records;
}

// Takes what was put, says that it is written, and gives what can go.
std::vector<std::uint32_t> flush(Journal& journal) {
  journal.take();
  journal.on_written(journal.collecting() - 1);
  return journal.removable();
}

// A segment for each batch.
constexpr JournalLimits kSmall{.segment_bytes = 1, .segments_max = 100};

TEST(Journal, CollectsWhatWasPutIntoBatches) {
  Journal journal{{}, {}};
  EXPECT_EQ(journal.take(), std::nullopt);
  EXPECT_EQ(journal.collecting(), 1U);
  journal.put(make_state(1));
  journal.put(make_record(1, 0));
  journal.put(make_drive(1, 2));
  const auto first = journal.take();
  EXPECT_THAT(records_of(first), ElementsAre(make_state(1), make_record(1, 0), make_drive(1, 2)));
  EXPECT_EQ(first->batch, 1U);
  EXPECT_EQ(first->segment, 1U);
  EXPECT_EQ(journal.take(), std::nullopt);
  journal.put(make_end_record(1, FinishReason::stop, 2));
  journal.forget(stream_id(1));
  const auto second = journal.take();
  EXPECT_THAT(records_of(second),
              ElementsAre(make_end_record(1, FinishReason::stop, 2), ForgetRecord{stream_id(1)}));
  EXPECT_EQ(second->batch, 2U);
}

TEST(Journal, GoesOnInTheNextSegmentWhenOneIsFull) {
  Journal journal{{.segment_bytes = kSegmentHeaderBytes + size_of(make_state(1)) + 1}, {}};
  journal.put(make_state(1));
  EXPECT_EQ(journal.take()->segment, 1U);
  journal.put(make_state(2));
  journal.put(make_state(3));
  EXPECT_EQ(journal.take()->segment, 1U);  // Whole, whatever its size.
  journal.put(make_state(4));
  EXPECT_EQ(journal.take()->segment, 2U);
  EXPECT_EQ(journal.segments(), 2U);
}

TEST(Journal, LetsASegmentBeAtMostAQuarterOfTheSpace) {
  Journal journal{{.bytes_max = 4 * (kSegmentHeaderBytes + size_of(make_state(1)))}, {}};
  journal.put(make_state(1));
  EXPECT_EQ(journal.take()->segment, 1U);
  journal.put(make_state(2));
  EXPECT_EQ(journal.take()->segment, 2U);
}

TEST(Journal, CountsTheBytesOfItsSegments) {
  Journal journal{{.segment_bytes = 1, .batch_bytes_extra = 7}, {}};
  EXPECT_EQ(journal.bytes(), 0U);
  journal.put(make_state(1));
  EXPECT_EQ(journal.bytes(), kSegmentHeaderBytes + size_of(make_state(1)));
  EXPECT_THAT(flush(journal), IsEmpty());
  journal.put(make_record(1, 0));
  journal.forget(stream_id(1));
  EXPECT_THAT(flush(journal), ElementsAre(1, 2));
  EXPECT_EQ(journal.bytes(), 0U);
  journal.put(make_state(2));
  journal.take();
  EXPECT_EQ(journal.bytes(), kSegmentHeaderBytes + size_of(make_state(2)) + 7);
}

TEST(Journal, KeepsASegmentForAsLongAsAStreamNeedsIt) {
  Journal journal{kSmall, {}};
  journal.put(make_state(1));
  flush(journal);
  journal.put(make_state(2));
  flush(journal);
  journal.put(make_end_record(1));
  EXPECT_THAT(flush(journal), IsEmpty());  // A stream that has ended is still there.
  journal.forget(stream_id(1));
  EXPECT_THAT(flush(journal), ElementsAre(1));
  EXPECT_THAT(journal.removable(), IsEmpty());  // Named once.
}

// Else its state would outlive the record that forgets it.
TEST(Journal, RemovesSegmentsOldestFirstOnly) {
  Journal journal{kSmall, {}};
  journal.put(make_state(1));
  flush(journal);
  journal.put(make_state(2));
  flush(journal);
  journal.forget(stream_id(2));
  EXPECT_THAT(flush(journal), IsEmpty());
  journal.forget(stream_id(1));
  EXPECT_THAT(flush(journal), ElementsAre(1, 2, 3, 4));
}

TEST(Journal, KeepsASegmentUntilWhatReplacesItIsWritten) {
  Journal journal{kSmall, {}};
  journal.put(make_state(1));
  flush(journal);
  journal.put(make_state(1));
  EXPECT_THAT(journal.removable(), IsEmpty());
  const auto copy = journal.take();
  EXPECT_THAT(journal.removable(), IsEmpty());
  journal.on_written(copy->batch);
  EXPECT_THAT(journal.removable(), ElementsAre(1));

  journal.put(make_state(1));
  journal.put(make_state(2));
  journal.put(make_state(1));
  const auto next = journal.take();
  EXPECT_THAT(journal.removable(), IsEmpty());
  journal.on_written(next->batch);
  EXPECT_THAT(journal.removable(), ElementsAre(2));
}

// On a full disk nothing can be written, and only removing makes room.
TEST(Journal, FreesWhatIsForgottenWhenNothingCanBeWritten) {
  Journal journal{kSmall, {}};
  journal.put(make_state(1));
  journal.put(make_state(2));
  flush(journal);
  journal.put(make_state(3));
  flush(journal);
  journal.put(make_state(2));  // From here on nothing is written.
  journal.take();
  journal.forget(stream_id(1));
  EXPECT_THAT(journal.removable(), IsEmpty());  // The second one has only its old state.
  journal.forget(stream_id(2));
  journal.take();
  EXPECT_THAT(journal.removable(), ElementsAre(1));
  journal.forget(stream_id(3));
  EXPECT_THAT(journal.removable(), ElementsAre(2));
  EXPECT_THAT(journal.removable(), IsEmpty());  // What is to be written is not there yet.
  EXPECT_THAT(flush(journal), ElementsAre(3, 4, 5));
}

// Two streams, of which the second one has many records: much can be freed.
Journal crowded(JournalLimits limits) {
  Journal journal{limits, {}};
  journal.put(make_state(2));
  journal.put(make_state(1));
  flush(journal);
  for (std::uint64_t at = 0; at < 20; ++at) {
    journal.put(make_record(2, at));
    flush(journal);
  }
  return journal;
}

TEST(Journal, NamesStreamsOfTheOldestSegmentsOnceWhenThereAreTooMany) {
  EXPECT_THAT(crowded(kSmall).to_forward(), IsEmpty());
  JournalLimits limits = kSmall;
  limits.segments_max = 4;
  Journal journal = crowded(limits);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1), stream_id(2)));
  EXPECT_THAT(journal.to_forward(), IsEmpty());
  journal.put(make_state(1));
  journal.put(make_state(2, 20));
  EXPECT_THAT(journal.to_forward(), IsEmpty());
  EXPECT_EQ(flush(journal).size(), 21U);
  EXPECT_EQ(journal.segments(), 1U);
  EXPECT_THAT(journal.to_forward(), IsEmpty());
}

// Segments, each with a long state that is needed and one that is not.
Journal with_long_states(std::uint64_t bytes, std::uint64_t segments = 6) {
  constexpr std::uint64_t kForgotten = 100;
  Journal journal{{.segment_bytes = 1, .segments_max = 2}, {}};
  for (std::uint64_t number = 1; number <= segments; ++number) {
    for (const std::uint64_t one : {number, number + kForgotten}) {
      StateRecord state = make_state(one);
      state.header.request = std::string(bytes, 'r');
      journal.put(state);
    }
    journal.forget(stream_id(number + kForgotten));
    flush(journal);
  }
  return journal;
}

// Whoever reads waits for the whole batch, and for those before it.
TEST(Journal, CopiesForwardNoMoreThanABatchShouldHoldUntilThatIsWritten) {
  Journal journal = with_long_states(Journal::kForwardBytes / 2);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1), stream_id(2)));
  journal.put(make_state(1));
  journal.put(make_state(2));
  EXPECT_THAT(journal.to_forward(), IsEmpty());
  const auto copies = journal.take();
  EXPECT_THAT(journal.to_forward(), IsEmpty());
  journal.on_written(copies->batch);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(3), stream_id(4)));
}

// Or a journal whose writes are slow would grow for ever.
TEST(Journal, CopiesForwardMoreWhenMuchIsPutMeanwhile) {
  constexpr std::uint64_t kBytes = Journal::kForwardBytes / 2;
  Journal journal = with_long_states(kBytes, 12);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1), stream_id(2)));
  journal.put(make_state(1));
  journal.put(make_state(2));
  StateRecord other = make_state(50);
  other.header.request = std::string(2 * kBytes, 'r');
  journal.put(other);
  flush(journal);
  EXPECT_THAT(journal.to_forward(),
              ElementsAre(stream_id(3), stream_id(4), stream_id(5), stream_id(6)));
}

TEST(Journal, CopiesNothingForwardThatNeedsItNoMoreWhenItsTurnComes) {
  Journal journal = with_long_states(Journal::kForwardBytes);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1)));
  journal.put(make_state(1));
  journal.forget(stream_id(2));
  journal.put(make_state(3));
  flush(journal);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(4)));
}

TEST(Journal, CopiesForwardWhenItTakesMuchOfTheSpace) {
  JournalLimits limits = kSmall;
  const std::uint64_t bytes = crowded(limits).bytes();
  limits.bytes_max = 2 * bytes;
  EXPECT_THAT(crowded(limits).to_forward(), IsEmpty());
  limits.bytes_max = 2 * bytes - 2;
  EXPECT_THAT(crowded(limits).to_forward(), testing::SizeIs(2));
}

// With more that is needed than segments_max hold, copying would never end.
TEST(Journal, CopiesNothingForwardThatFreesTooLittle) {
  JournalLimits limits = kSmall;
  limits.segments_max = 2;
  Journal journal{limits, {}};
  for (std::uint64_t number = 1; number <= 20; ++number) {
    journal.put(make_state(number, 30));
    flush(journal);
    EXPECT_THAT(journal.to_forward(), IsEmpty());
  }
  for (std::uint64_t number = 2; number <= 20; ++number) {
    journal.put(make_record(number, 30));
    journal.forget(stream_id(number));
  }
  flush(journal);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1)));
}

// Most of a state is what it takes to run the stream: nobody needs that behind its end.
TEST(Journal, CopiesForwardWhatHasShrunkAtItsEnd) {
  const auto long_state = [](std::uint64_t number) {
    StateRecord state = make_state(number);
    state.header.request = std::string(1000, 'r');
    return state;
  };
  JournalLimits limits = kSmall;
  limits.segments_max = 2;
  Journal journal{limits, {}};
  for (std::uint64_t number = 1; number <= 5; ++number) {
    journal.put(long_state(number));
    journal.put(make_end_record(number));
    flush(journal);
  }
  EXPECT_THAT(journal.to_forward(), IsEmpty());
  for (std::uint64_t number = 1; number <= 5; ++number) journal.shrink(stream_id(number), 990);
  EXPECT_THAT(journal.to_forward(), ElementsAre(stream_id(1), stream_id(2), stream_id(3)));
}

TEST(Journal, CountsWhatEndedStreamsTakeUp) {
  const std::uint64_t state = size_of(make_state(1));
  const std::uint64_t token = size_of(make_record(1, 0));
  const std::uint64_t end = size_of(make_end_record(1));
  Journal journal{kSmall, {}};
  journal.put(make_state(1));
  for (std::uint64_t at = 0; at < 30; ++at) journal.put(make_record(1, at));
  EXPECT_EQ(journal.ended_bytes(), 0U);
  journal.put(make_end_record(1));
  EXPECT_GT(journal.ended_bytes(), state + 29 * token + end);
  EXPECT_LT(journal.ended_bytes(), state + 32 * token + end);
  StateRecord copy = make_state(1, 30);
  copy.ended = make_end(FinishReason::stop);
  const std::uint64_t copied = size_of(copy);
  journal.put(copy);
  EXPECT_EQ(journal.ended_bytes(), 2 * copied);  // As much again may lie beside it.
  journal.shrink(stream_id(1), 10);
  EXPECT_EQ(journal.ended_bytes(), 2 * (copied - 10));
  const Journal again{kSmall,
                      {.streams = {{.state = copy, .segment = 1, .bytes = 3 * copied}},
                       .segments = {{1, 4 * copied}}}};
  EXPECT_EQ(again.ended_bytes(), 3 * copied);
  journal.forget(stream_id(1));
  EXPECT_EQ(journal.ended_bytes(), 0U);
}

TEST(Journal, ContinuesBehindWhatWasRecovered) {
  StateRecord ended = make_state(2);
  ended.ended = make_end(FinishReason::stop);
  const Recovery recovery{
      .streams = {{.state = make_state(1, 2), .segment = 4}, {.state = ended, .segment = 5}},
      .segments = {{3, 100}, {4, 200}, {5, 300}}};
  Journal journal{kSmall, recovery};
  EXPECT_EQ(journal.bytes(), 600U);
  EXPECT_THAT(journal.removable(), ElementsAre(3));
  journal.put(make_record(1, 2));
  journal.forget(stream_id(1));
  EXPECT_EQ(journal.take()->segment, 6U);
  journal.on_written(1);
  EXPECT_THAT(journal.removable(), ElementsAre(4));
  journal.forget(stream_id(2));
  EXPECT_THAT(flush(journal), ElementsAre(5, 6, 7));
}

TEST(Journal, KeepsTheCountOfServerStartsInCopies) {
  StateRecord state = make_state(1, 2);
  state.server_starts = 1;
  Journal journal{{}, {.streams = {{.state = state, .segment = 1}}, .segments = {{1, 100}}}};
  const auto starts = [&journal](const StateRecord& state_now) {
    StateRecord copy = state_now;
    copy.server_starts = 99;  // Whatever the core says.
    journal.put(std::move(copy));
    const auto records = records_of(journal.take());
    return std::get<StateRecord>(records.back()).server_starts;
  };
  EXPECT_EQ(starts(state), 1U);
  journal.put(make_drive(1, 2));
  journal.put(make_drive(1, 2, DriveRecord::Cause::engine));
  state.header.gen = {2};
  EXPECT_EQ(starts(state), 2U);
  journal.put(make_record(1, 2, 0, 2));
  EXPECT_EQ(starts(state), 2U);
  journal.put(make_record(1, 2, 1, 2));
  state.tokens = make_tokens(0, 3);
  EXPECT_EQ(starts(state), 0U);
  EXPECT_EQ(starts(make_state(2)), 0U);
}

TEST(Journal, ReservesSpaceAndTakesWritesFromIt) {
  const std::uint64_t state = size_of(make_state(1));
  const std::uint64_t token = size_of(make_record(1, 0));
  Journal journal{{.bytes_max = 2000}, {}};
  EXPECT_TRUE(journal.can_reserve(2000));
  EXPECT_FALSE(journal.can_reserve(2001));
  EXPECT_FALSE(journal.can_reserve(~std::uint64_t{0}));
  journal.reserve(stream_id(1), 1000);
  EXPECT_TRUE(journal.can_reserve(1000));
  EXPECT_FALSE(journal.can_reserve(1001));
  journal.put(make_state(1));
  EXPECT_EQ(journal.reserved(), 1000 - state);
  EXPECT_TRUE(journal.can_reserve(1000 - kSegmentHeaderBytes));
  journal.put(make_record(1, 0));
  EXPECT_EQ(journal.reserved(), 1000 - state - token);
  journal.put(make_state(1, 1));  // A copy.
  EXPECT_EQ(journal.reserved(), 1000 - state - token);
  journal.put(make_end_record(1));
  EXPECT_EQ(journal.reserved(), 0U);
}

TEST(Journal, GivesBackWhatAForgottenStreamReserved) {
  Journal journal{{}, {}};
  journal.reserve(stream_id(1), 10);
  journal.forget(stream_id(1));  // It never came to be.
  EXPECT_EQ(journal.take(), std::nullopt);
  journal.reserve(stream_id(2), 10'000);
  journal.put(make_state(2));
  journal.forget(stream_id(2));
  EXPECT_EQ(journal.reserved(), 0U);
  journal.reserve(stream_id(3), 10'000);
  StateRecord ended = make_state(3);
  ended.ended = make_end(FinishReason::stop);
  journal.put(ended);
  EXPECT_EQ(journal.reserved(), 0U);
  journal.reserve(stream_id(4), 10);
  journal.put(make_state(4));  // More than it reserved.
  EXPECT_EQ(journal.reserved(), 0U);
}

TEST(JournalDeathTest, WritesNothingThatTheReaderWouldRefuse) {
  const auto with = [](const auto&... records) {
    Journal journal{{}, {}};
    journal.put(make_state(1, 1));
    (journal.put(records), ...);
  };
  EXPECT_DEATH(with(make_record(2, 0)), "state comes before");
  EXPECT_DEATH(with(make_record(1, 2)), "follow the last");
  EXPECT_DEATH(with(make_record(1, 1, 1, 2)), "present gen");
  EXPECT_DEATH(with(make_drive(1, 0)), "only grow");
  EXPECT_DEATH(with(make_drive(2, 1)), "only grow");
  EXPECT_DEATH(with(make_end_record(1), make_record(1, 1)), "nothing follows");
  EXPECT_DEATH(with(make_end_record(1), make_drive(1, 2)), "nothing follows");
  EXPECT_DEATH(with(make_state(1)), "all that the older one has");
  EXPECT_DEATH(Journal({}, {}).on_written(1), "were taken");
}

}  // namespace
}  // namespace seedance::stream
