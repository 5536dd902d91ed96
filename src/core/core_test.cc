#include "core/core.h"

#include <gmock/gmock.h>

#include <string>

#include "core/harness.h"

namespace seedance::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Core, StreamsFromRequestToStop) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  EXPECT_EQ(h.accepted().stream, id);
  EXPECT_EQ(h.accepted().model, "letters@1");
  EXPECT_EQ(h.accepted().prompt_tokens, 3U);
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].tokens_max, kContext - 3);
  h.say(h.jobs[0], "hi");
  EXPECT_EQ(h.text(), "hi");
  EXPECT_FALSE(h.accepted().log->head().done);
  h.end(h.jobs[0]);
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal().usage, (stream::Usage{3, 3}));
  EXPECT_EQ(h.core.streams_active(), 0U);
  EXPECT_THAT(h.cancels, IsEmpty());
}

TEST(Core, TimesEachPhase) {
  Harness h;
  h.start();
  h.run();
  h.advance(milliseconds{50});
  h.step({{.job = h.jobs[0].id,
           .gen = h.jobs[0].gen,
           .token = letter('a'),
           .prefill = milliseconds{30}}});
  h.advance(milliseconds{7});
  h.end(h.jobs[0]);
  const stream::Timing& timing = h.terminal().timing;
  EXPECT_EQ(timing.ttft, milliseconds{50});
  EXPECT_EQ(timing.prefill, milliseconds{30});
  EXPECT_EQ(timing.queue, milliseconds{20});
  EXPECT_EQ(timing.decode, milliseconds{7});
}

TEST(Core, TellsWhatOfThePromptWasComputedBefore) {
  Harness h;
  h.start();
  h.run();
  h.step({{.job = h.jobs[0].id, .gen = h.jobs[0].gen, .token = letter('a'), .reused = 2}});
  h.step({{.job = h.jobs[0].id, .gen = h.jobs[0].gen, .token = letter('b'), .reused = 3}});
  h.end(h.jobs[0]);
  EXPECT_EQ(h.terminal().usage.cached_tokens, 2U);
  EXPECT_EQ(h.core.stats().tokens_cached.value(), 2U);
}

TEST(Core, TellsOfNoMoreThanThePromptHas) {
  Harness h;
  h.start();
  h.run();
  h.step({{.job = h.jobs[0].id, .gen = h.jobs[0].gen, .token = letter('a'), .reused = 99}});
  h.end(h.jobs[0]);
  EXPECT_EQ(h.terminal().usage.cached_tokens, 3U);
}

TEST(Core, HashesTheWholeText) {
  Harness h;
  h.start();
  h.run();
  h.say(h.jobs[0], "abc", engine::JobEnd::length);
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::length);
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(h.terminal().sha256[0], 0xba);
  EXPECT_EQ(h.terminal().sha256[31], 0xad);
}

TEST(Core, WakesAnEdgeOnceForAStepOfManyStreams) {
  Harness h;
  h.start(4);
  for (int i = 0; i < 4; ++i) h.run();
  h.wakes.clear();
  std::vector<engine::StepToken> tokens;
  tokens.reserve(h.jobs.size());
  for (const engine::Job& job : h.jobs) {
    tokens.push_back({.job = job.id, .gen = job.gen, .token = letter('x')});
  }
  h.step(tokens);
  ASSERT_THAT(h.wakes, SizeIs(1));
  EXPECT_THAT(h.wakes[0].connections, SizeIs(4));
  h.step(tokens);
  EXPECT_THAT(h.wakes, SizeIs(2));
}

// As many as its engine guessed, and they come as one.
TEST(Core, TakesSeveralTokensOfAStreamInOneStep) {
  Harness h;
  h.start();
  for (int i = 0; i < 2; ++i) h.run({.text = {.stop = {"lo"}}});
  h.wakes.clear();
  const auto token = [&](std::size_t job, char said) {
    return engine::StepToken{.job = h.jobs[job].id, .gen = h.jobs[job].gen, .token = letter(said)};
  };
  h.pass(EngineEvent{kModel, engine::Step{.tokens = {token(0, 'a'), token(0, 'b'), token(0, 'c'),
                                                     token(1, 'x'), token(1, 'y')},
                                          .drafted = 6,
                                          .accepted = 3}});
  ASSERT_THAT(h.wakes, SizeIs(1));
  EXPECT_THAT(h.wakes[0].connections, SizeIs(2));
  EXPECT_EQ(h.text(0), "abc");
  EXPECT_EQ(h.text(1), "xy");
  EXPECT_EQ(h.accepted(0).log->head().end, Offset{3});
  // Its end is in the middle.
  h.step({token(0, 'l'), token(0, 'o'), token(0, 'x'), token(1, 'z')});
  EXPECT_EQ(h.text(0), "abc");
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal(0).usage.completion_tokens, 5U);
  EXPECT_THAT(h.cancels, SizeIs(1));
  EXPECT_EQ(h.text(1), "xyz");
  std::string metrics;
  append_text(metrics, h.core.stats());
  EXPECT_THAT(metrics, HasSubstr("seedance_tokens_drafted_total 6\n"));
  EXPECT_THAT(metrics, HasSubstr("seedance_tokens_draft_accepted_total 3\n"));
}

TEST(Core, StopStringEndsTheStreamAndTheJob) {
  Harness h;
  h.start();
  h.run({.text = {.stop = {"lo"}}});
  h.say(h.jobs[0], "hellox");
  EXPECT_EQ(h.text(), "hel");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal().usage.completion_tokens, 5U);
  EXPECT_THAT(h.cancels, ElementsAre(engine::Cancel{h.jobs[0].id, h.jobs[0].gen}));
}

TEST(Core, TheTemplatesStopStringsCountToo) {
  Harness h;
  h.start();
  h.submit();
  h.prepared(3, {"x"});
  h.say(h.jobs[0], "ax");
  EXPECT_EQ(h.text(), "a");
  EXPECT_TRUE(h.accepted().log->head().done);
}

TEST(Core, HeldBackTextComesOutAtTheEnd) {
  Harness h;
  h.start();
  h.run({.text = {.stop = {"lost"}}});
  h.say(h.jobs[0], "hello");
  EXPECT_EQ(h.text(), "hel");
  h.end(h.jobs[0]);
  EXPECT_EQ(h.text(), "hello");
}

TEST(Core, CancelWorksInEveryState) {
  Harness h;
  h.start(1);
  const StreamId running = h.run();
  h.run();
  const StreamId queued = h.run();
  const StreamId preparing = h.submit();
  h.pass(CancelStream{.stream = queued});
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::cancelled);
  EXPECT_THAT(h.cancels, IsEmpty());
  h.pass(CancelStream{.stream = preparing});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::cancelled);
  h.say(h.jobs[0], "a");
  h.pass(CancelStream{.stream = running});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::cancelled);
  EXPECT_EQ(h.terminal(0).usage.completion_tokens, 1U);
  EXPECT_THAT(h.cancels, ElementsAre(engine::Cancel{h.jobs[0].id, h.jobs[0].gen}));
  EXPECT_THAT(h.cancelled, ElementsAre(queued, preparing, running));
}

TEST(Core, TokensAfterTheEndAreDropped) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.pass(CancelStream{.stream = id});
  h.say(h.jobs[0], "late");
  h.end(h.jobs[0]);
  EXPECT_EQ(h.text(), "");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::cancelled);
}

TEST(Core, CancelOfAnUnknownStreamSaysSo) {
  Harness h;
  h.start();
  h.pass(CancelStream{.stream = {9, 9}});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
}

TEST(Core, AnotherTenantsStreamIsNotFound) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.pass(CancelStream{.principal = {.tenant = "other"}, .stream = id});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
  EXPECT_FALSE(h.accepted().log->head().done);
}

TEST(Core, AStepOfAnotherGenerationIsRefused) {
  Harness h;
  h.start();
  h.run();
  h.step({{.job = h.jobs[0].id, .gen = {0}, .token = letter('x')}});
  h.step({{.job = h.jobs[0].id, .gen = {2}, .token = letter('x')}});
  EXPECT_EQ(h.text(), "");
}

TEST(Core, AStreamWithoutReaderRunsOnForItsGrace) {
  Harness h;
  h.start(4);
  for (const Detach detach : {Detach::automatic, Detach::keep, Detach::cancel}) {
    h.gone(h.run({.detach = detach, .surface = Surface::chat}));
  }
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::cancelled);
  h.say(h.jobs[0], "on");
  EXPECT_EQ(h.text(0), "on");
  h.advance(seconds{10});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::cancelled);
  EXPECT_FALSE(h.accepted(1).log->head().done);
  h.advance(seconds{290});
  EXPECT_EQ(h.terminal(1).reason, stream::FinishReason::cancelled);
}

TEST(Core, AJobThatFailsEndsItsStreamAlone) {
  Harness h;
  h.start();
  h.run();
  h.run();
  h.pass(EngineEvent{kModel, engine::JobFailed{.job = h.jobs[0].id,
                                               .gen = h.jobs[0].gen,
                                               .problem = {.code = ErrorCode::engine_failed}}});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::error);
  EXPECT_FALSE(h.accepted(1).log->head().done);
}

TEST(Core, ADrainWaitsForNoStreamThatNobodyReads) {
  Harness h;
  h.start();
  h.gone(h.run({.detach = Detach::keep}));
  h.run();
  h.pass(Drain{kStart + seconds{5}});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::cancelled);
  EXPECT_FALSE(h.accepted(1).log->head().done);
}

TEST(Core, DrainRefusesNewRequestsAndEndsOldOnesAtItsDeadline) {
  Harness h;
  h.start();
  h.run();
  h.submit();
  h.pass(Drain{kStart + seconds{5}});
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
  EXPECT_FALSE(h.core.drained());
  h.say(h.jobs[0], "still");
  EXPECT_EQ(h.text(), "still");
  h.advance(seconds{5});
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::cancelled);
  ASSERT_THAT(h.refusals, SizeIs(2));  // Not cancelled: it is worth another try elsewhere.
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
  EXPECT_TRUE(h.core.drained());
}

TEST(Core, CountsWhatItDoes) {
  Harness h;
  h.start();
  h.run();
  h.say(h.jobs[0], "ab");
  h.end(h.jobs[0]);
  std::string out;
  append_text(out, h.core.stats());
  EXPECT_THAT(out, HasSubstr("seedance_generated_tokens_total 3\n"));
  EXPECT_THAT(out, HasSubstr("seedance_streams_ended_total{reason=\"stop\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("seedance_ttft_seconds_count 1\n"));
  EXPECT_THAT(out, HasSubstr("seedance_inter_token_seconds_count 2\n"));
}

TEST(Core, AStopStringInTheLastReplacedBytesCounts) {
  Harness h;
  h.start();
  h.run({.text = {.stop = {"b\uFFFD"}}});
  h.say(h.jobs[0], "ab");
  h.step(
      {{.job = h.jobs[0].id, .gen = h.jobs[0].gen, .token = kHalf, .end = engine::JobEnd::length}});
  EXPECT_EQ(h.text(), "a");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
}

TEST(Core, ADrainStartsNothingAtItsDeadline) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 4; ++i) h.run();
  h.pass(Drain{kStart + seconds{5}});
  h.advance(seconds{5});
  EXPECT_TRUE(h.core.drained());
  EXPECT_THAT(h.jobs, SizeIs(2));
}

TEST(Core, ACancelledStreamShowsNothingThatWasHeldBack) {
  Harness h;
  h.start();
  const StreamId id = h.run({.text = {.stop = {"lost"}}});
  h.say(h.jobs[0], "hello");
  h.pass(CancelStream{.stream = id});
  EXPECT_EQ(h.text(), "hel");
  EXPECT_EQ(h.terminal().usage.completion_tokens, 5U);
}

}  // namespace
}  // namespace seedance::core
