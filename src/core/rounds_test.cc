// What the journal is told, and what is kept in it.
#include <gmock/gmock.h>

#include <string_view>
#include <utility>

#include "core/harness.h"

namespace seedance::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Limits kForEver{.terminal_ttl = hours{10'000}};
constexpr std::uint32_t kLongContext = 2000;

struct Load {
  std::size_t prompt_tokens = 3;
  std::size_t tokens = 1;
  std::uint32_t top_logprobs = 0;
  bool acknowledged = false;  // Every second one: it goes much earlier.
};

// One stream after the other; each is gone before the next one comes, but for what is
// kept of it.
void serve(Harness& h, const Load& load, int streams) {
  for (int i = 0; i < streams; ++i) {
    const engine::Sampling sampling{.logprobs = load.top_logprobs > 0,
                                    .top_logprobs = load.top_logprobs};
    const StreamId id =
        h.submit({.sampling = sampling, .max_tokens = static_cast<std::uint32_t>(load.tokens)});
    h.prepared(load.prompt_tokens);
    ASSERT_THAT(h.refusals, IsEmpty()) << "stream " << i << ": " << h.refusals[0].message;
    const engine::Job job = h.jobs.back();
    for (std::size_t token = 0; token < load.tokens; ++token) {
      engine::StepToken step{.job = job.id, .gen = job.gen, .token = letter('a')};
      if (load.top_logprobs > 0) step.logprobs.resize(1);
      for (auto& one : step.logprobs) one.top.resize(load.top_logprobs);
      if (token + 1 == load.tokens) step.end = engine::JobEnd::length;
      h.step({step});
    }
    h.gone(id);
    if (load.acknowledged && i % 2 == 0) {
      h.pass(Acknowledge{.principal = {}, .stream = id, .from = {load.tokens}});
    }
    h.advance(std::chrono::seconds{1});
    h.jobs.clear();
    h.acceptances.clear();
  }
}

TEST(Journalled, NothingIsShownBeforeItIsWritten) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run();
  EXPECT_THAT(h.acceptances, IsEmpty());
  EXPECT_THAT(h.jobs, IsEmpty());
  h.written();
  ASSERT_THAT(h.acceptances, SizeIs(1));
  ASSERT_THAT(h.jobs, SizeIs(1));
  h.wakes.clear();
  h.say(h.jobs[0], "a");
  EXPECT_EQ(h.text(), "");
  EXPECT_THAT(h.wakes, IsEmpty());
  h.written();
  EXPECT_EQ(h.text(), "a");
  EXPECT_THAT(h.wakes, SizeIs(1));
  h.end(h.jobs[0]);
  EXPECT_FALSE(h.accepted().log->head().done);
  h.written();
  EXPECT_TRUE(h.accepted().log->head().done);
}

TEST(Journalled, ABatchShowsNoMoreThanItHolds) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run();
  h.written();
  h.say(h.jobs[0], "a");
  const std::uint64_t first = h.last_batch;
  h.say(h.jobs[0], "b");
  h.pass(JournalWritten{first});
  EXPECT_EQ(h.text(), "a");
  h.written();
  EXPECT_EQ(h.text(), "ab");
}

TEST(Journalled, WritesTheTokensOfAStepAsOneRecord) {
  const auto bytes = [](std::string_view word, bool together) {
    Harness h{Disk{}};
    h.start();
    h.run();
    std::size_t before = 0;
    for (const auto& [number, segment] : h.segments) before += segment.size();
    std::vector<engine::StepToken> tokens;
    for (const char said : word) {
      tokens.push_back({.job = h.jobs[0].id, .gen = h.jobs[0].gen, .token = letter(said)});
      if (together) continue;
      h.step(std::exchange(tokens, {}));
    }
    const std::uint64_t batches = h.last_batch;
    if (together) {
      h.step(tokens);
      EXPECT_EQ(h.last_batch, batches + 1);
    }
    EXPECT_EQ(h.text(), word);
    std::size_t after = 0;
    for (const auto& [number, segment] : h.segments) after += segment.size();
    return after - before;
  };
  EXPECT_LT(bytes("abcd", true), bytes("abc", false));
}

// Its job waits for the journal, its cancel does not.
TEST(Journalled, AJobThatWasCancelledBeforeItLeftIsNotGiven) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  const StreamId id = h.run();
  h.pass(CancelStream{.reply_to = {}, .principal = {}, .stream = id});
  h.written();
  EXPECT_THAT(h.jobs, IsEmpty());
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::cancelled);
}

TEST(Journalled, ListsNobodyWhoIsNotWritten) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run();
  h.pass(ListStreams{.reply_to = {}, .principal = {}});
  EXPECT_THAT(h.lists.at(0).streams, IsEmpty());
  h.written();
  h.pass(ListStreams{.reply_to = {}, .principal = {}});
  EXPECT_THAT(h.lists.at(1).streams, SizeIs(1));
}

TEST(Journalled, AStalledJournalParksWhatRunsAndRefusesWhatComes) {
  Harness h{Disk{}, Writing::by_hand};
  h.start(1);
  h.run();
  h.written();
  h.say(h.jobs[0], "a");
  h.pass(JournalStalled{{.code = ErrorCode::overloaded, .message = "the disk is full"}});
  EXPECT_FALSE(h.core.ready());
  h.submit();
  EXPECT_EQ(h.refusals.back().message, "the disk is full");
  h.say(h.jobs[0], "b");
  EXPECT_EQ(h.text(), "");
  h.pass(JournalFlows{});
  h.written();
  EXPECT_EQ(h.text(), "ab");
  EXPECT_TRUE(h.core.ready());
}

TEST(Journalled, OneLongStreamPinsNoOldSegments) {
  Harness h{Disk{},
            Writing::at_once,
            {.terminal_ttl = seconds{1}},
            {.segment_bytes = 512, .segments_max = 2}};
  h.start();
  const StreamId lasting = h.run();
  for (int i = 0; i < 20; ++i) {
    h.run();
    h.say(h.jobs[0], "a");
    h.end(h.jobs.back());
    h.advance(seconds{1});
  }
  EXPECT_FALSE(h.removed.empty());
  EXPECT_LE(h.segments.size(), 5U);
  Harness after{h.segments};
  after.attach(lasting);
  EXPECT_EQ(after.resumed.at(0).head, Offset{20});
}

TEST(Journalled, RefusesWhatTheJournalHasNoRoomFor) {
  Harness h{Disk{}, Writing::at_once, {}, {.bytes_max = 12'000}};
  h.start();
  h.run();
  h.submit();
  h.prepared();
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  h.end(h.jobs[0]);
  h.run();
  EXPECT_THAT(h.jobs, SizeIs(2));
}

class KeptInTheJournal : public testing::TestWithParam<Load> {};

TEST_P(KeptInTheJournal, NeverStopsAdmission) {
  constexpr std::uint64_t kBytes = 200'000;
  Harness h{{}, Writing::at_once, kForEver, {.segment_bytes = 8192, .bytes_max = kBytes}};
  h.start(2, kLongContext);
  serve(h, GetParam(), 200);
  EXPECT_GT(h.core.stats().streams_kept.value(), 2);
  std::uint64_t bytes = 0;
  for (const auto& [number, segment] : h.segments) bytes += segment.size();
  EXPECT_LE(bytes, kBytes);

  // Nor after another start, which finds all of them.
  Harness after{
      h.segments, Writing::at_once, kForEver, {.segment_bytes = 8192, .bytes_max = kBytes}};
  after.last = h.last;
  after.start(2, kLongContext);
  serve(after, GetParam(), 50);
}

INSTANTIATE_TEST_SUITE_P(
    All, KeptInTheJournal,
    testing::Values(
        Load{}, Load{.tokens = 50}, Load{.prompt_tokens = 1500},
        Load{.prompt_tokens = 1500, .tokens = 50}, Load{.tokens = 50, .top_logprobs = 20},
        Load{.prompt_tokens = 1500, .tokens = 40, .top_logprobs = 20},
        Load{.prompt_tokens = 1500, .tokens = 40, .top_logprobs = 20, .acknowledged = true},
        Load{.tokens = 50, .top_logprobs = 20, .acknowledged = true},
        Load{.tokens = 50, .acknowledged = true}));

// A stream is copied forward as one record, and a record has an end.
TEST(Journalled, RefusesWhatCanNeverBeWritten) {
  constexpr std::uint32_t kContextTokens = 16'777'216;
  const engine::Sampling scored{.logprobs = true, .top_logprobs = 20};
  Harness h{Disk{}, Writing::at_once, {}, {.bytes_max = std::uint64_t{1} << 40}};
  h.start(8, kContextTokens);
  h.submit({.sampling = scored});
  h.prepared();
  ASSERT_THAT(h.refusals, SizeIs(1));
  const Problem& problem = h.refusals[0];
  EXPECT_EQ(problem.code, ErrorCode::invalid_request);
  EXPECT_EQ(problem.param, "max_tokens");
  ASSERT_THAT(problem.numbers, SizeIs(3));
  EXPECT_GT(problem.numbers[0].value, stream::kRecordBytesMax);
  EXPECT_EQ(problem.numbers[1].value, stream::kRecordBytesMax);
  const auto most = static_cast<std::uint32_t>(problem.numbers[2].value);
  EXPECT_GT(most, 900'000U);
  h.run({.sampling = scored, .max_tokens = most});
  EXPECT_THAT(h.jobs, SizeIs(1));
  h.submit({.sampling = scored, .max_tokens = most + 1});
  h.prepared();
  EXPECT_THAT(h.refusals, SizeIs(2));
  h.submit({.sampling = {.logprobs = true}, .max_tokens = 1});
  h.prepared(std::size_t{10} * most);
  h.submit({.max_tokens = 1});  // No number of tokens helps.
  h.prepared(kContextTokens - 1);
  EXPECT_THAT(h.jobs, SizeIs(3));
}

TEST(Journalled, RefusesForGoodWhatTheWholeJournalCannotHold) {
  Harness h{Disk{}, Writing::at_once, {}, {.bytes_max = 5000}};
  h.start();
  h.submit();
  h.prepared();
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::invalid_request);
  h.run({.max_tokens = static_cast<std::uint32_t>(h.refusals[0].numbers.at(2).value)});
  EXPECT_THAT(h.jobs, SizeIs(1));
  Harness without;
  without.start(1, 1U << 24);
  without.run();
  EXPECT_THAT(without.jobs, SizeIs(1));
}

TEST(Kept, TakesNoMoreMemoryThanItMayEvenWithoutAJournal) {
  for (const std::uint32_t top_logprobs : {0U, 20U}) {
    Limits limits = kForEver;
    limits.kept_bytes_max = 1'000'000;
    Harness h{limits};
    h.start(2, kLongContext);
    serve(h, {.tokens = 200, .top_logprobs = top_logprobs}, 200);
    const std::int64_t kept = h.core.stats().streams_kept.value();
    // A token takes 16 bytes at least, and 20 candidates 160.
    EXPECT_LE(kept * 200 * (16 + 8 * top_logprobs), 1'000'000U);
    EXPECT_GT(kept, 1);
    h.attach({1, 200});
    EXPECT_THAT(h.resumed, SizeIs(1)) << "the newest are kept";
    h.attach({1, 1});
    ASSERT_THAT(h.refusals, SizeIs(1));
    EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_expired);
  }
}

}  // namespace
}  // namespace seedance::core
