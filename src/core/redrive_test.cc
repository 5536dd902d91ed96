// Streams outlive engines and servers.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The engine dies, and a new one is there.
void replace_engine(Harness& h, std::uint32_t sequences = 2) {
  h.pass(EngineDown{kModel});
  h.start(sequences);
}

TEST(Redrive, ANewEngineContinuesBehindTheCommittedTokens) {
  Harness h;
  h.start();
  h.run();
  h.say(h.jobs[0], "ab");
  h.pass(EngineDown{kModel});
  EXPECT_FALSE(h.core.ready());
  h.say(h.jobs[0], "x");  // Of the dead one.
  h.start();
  ASSERT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.jobs[1].id, h.jobs[0].id);
  EXPECT_EQ(h.jobs[1].gen, Generation{2});
  EXPECT_THAT(h.jobs[1].committed, ElementsAre(letter('a'), letter('b')));
  EXPECT_EQ(h.jobs[1].prompt, h.jobs[0].prompt);
  EXPECT_EQ(h.jobs[1].sampling, h.jobs[0].sampling);
  h.say(h.jobs[0], "y");  // Of an older generation.
  h.say(h.jobs[1], "cd");
  h.end(h.jobs[1]);
  EXPECT_EQ(h.text(), "abcd");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.core.stats().engine_restarts.value(), 1U);
}

TEST(Redrive, SuspectsAreTriedOneAtATimeUntilEachHasAToken) {
  Harness h;
  h.start(4);
  for (int i = 0; i < 3; ++i) h.run();
  h.run({.deadline = seconds{1}});
  for (int i = 0; i < 2; ++i) replace_engine(h, 4);
  h.run();  // Waits until all are cleared.
  h.jobs.clear();
  h.pass(EngineDown{kModel});
  h.start(4);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_THAT(h.jobs, SizeIs(i + 1));
    EXPECT_EQ(h.jobs[i].id.value, i + 1);
    h.say(h.jobs[i], "a");  // Not it: it runs on, and the next one joins it.
  }
  ASSERT_THAT(h.jobs, SizeIs(5));
  for (const engine::Job& job : h.jobs) h.end(job);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(h.terminal(i).reason, stream::FinishReason::stop);
}

// One suspect without a token beside one that has been cleared.
TEST(Redrive, ADeathIsTheOnlyUnprovenSuspects) {
  Harness h;
  h.start(3);
  for (int i = 0; i < 3; ++i) h.run();
  for (int i = 0; i < 2; ++i) replace_engine(h, 3);
  h.say(h.jobs.back(), "a");
  ASSERT_EQ(h.jobs.back().id.value, 2U);
  h.jobs.clear();
  replace_engine(h, 3);
  ASSERT_THAT(h.jobs, SizeIs(1));  // The accused goes first, and nobody runs beside it.
  EXPECT_EQ(h.jobs[0].id.value, 2U);
  h.say(h.jobs[0], "a");
  EXPECT_EQ(h.jobs.back().id.value, 3U);
  h.say(h.jobs.back(), "a");
  EXPECT_EQ(h.jobs.back().id.value, 1U);  // Was not charged.
  replace_engine(h, 3);
  EXPECT_THAT(h.jobs, SizeIs(6));  // All three together: none is a suspect.
}

TEST(Redrive, NobodyFailsForADeathThatHadOthersAtTheEngine) {
  Harness h;
  h.start(2);
  for (int i = 0; i < 2; ++i) h.run();
  for (int i = 0; i < 2; ++i) replace_engine(h);
  // The first has a token each time, and the second is hit beside it.
  for (int i = 0; i < 10; ++i) {
    h.say(h.jobs.back(), "a");
    replace_engine(h);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_FALSE(h.accepted(i).log->head().done);
}

TEST(Redrive, ASuspectWaitsForASequenceOfItsOwn) {
  Harness h;
  h.start(1);  // Takes one, and one more ahead.
  for (int i = 0; i < 2; ++i) h.run();
  for (int i = 0; i < 2; ++i) replace_engine(h, 1);
  h.say(h.jobs.back(), "a");
  const std::size_t jobs = h.jobs.size();
  h.advance(seconds{1000});  // Not for want of an engine: it waits its turn.
  EXPECT_FALSE(h.accepted(1).log->head().done);
  EXPECT_THAT(h.jobs, SizeIs(jobs));
  h.end(h.jobs.back());
  EXPECT_EQ(h.jobs.back().id.value, 2U);
}

TEST(Redrive, OnlyWhoDiesAloneFails) {
  Harness h;
  h.start(3);
  for (int i = 0; i < 3; ++i) h.run();
  // The second stream kills the engine whenever it runs.
  for (int i = 0; i < 2; ++i) replace_engine(h, 3);
  for (int round = 0; round < 8; ++round) {
    const engine::Job job = h.jobs.back();
    if (job.id.value == 2) {
      replace_engine(h, 3);
    } else {
      h.say(job, "ok");
      h.end(job);
    }
  }
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::stop);
  ASSERT_EQ(h.terminal(1).reason, stream::FinishReason::error);
  EXPECT_EQ(h.terminal(1).problem->code, ErrorCode::engine_failed);
  EXPECT_EQ(h.terminal(1).problem->numbers.at(0).value, 4);  // Two of them it was alone.
}

TEST(Redrive, RandomDeathsFailNobody) {
  Harness h;
  h.start();
  h.run();
  for (int i = 0; i < 50; ++i) {
    h.say(h.jobs.back(), "a");
    replace_engine(h);
  }
  h.end(h.jobs.back());
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal().usage.completion_tokens, 51U);
}

TEST(Redrive, GivesUpWhenNoEngineComes) {
  Harness h;
  h.start();
  h.run();
  h.pass(EngineDown{kModel});
  h.advance(seconds{300});
  EXPECT_EQ(h.terminal().problem->code, ErrorCode::engine_failed);
}

// Counted from when there was none: not from the death that hit this stream.
TEST(Redrive, GivesUpOnlyAfterSoLongWithoutAnEngine) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run();
  for (int i = 0; i < 2; ++i) replace_engine(h, 1);
  h.advance(seconds{290});  // The first is tried all the time, and the second waits.
  h.pass(EngineDown{kModel});
  h.advance(seconds{299});
  EXPECT_EQ(h.core.streams_active(), 2U);
  h.advance(seconds{1});
  EXPECT_EQ(h.core.streams_active(), 0U);
  EXPECT_EQ(h.terminal(1).problem->code, ErrorCode::engine_failed);
}

// The job is in the effects, and the engine that it is for is dead.
TEST(Redrive, AJobThatWasNotTakenDiesWithItsEngine) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run();
  for (std::uint32_t i = 0; i < kSuspectDeaths + kLoneDeathsMax; ++i) {
    h.core.on_message(JournalWritten{h.last_batch}, h.now);
    h.pass(EngineDown{kModel});
    EXPECT_THAT(h.jobs, IsEmpty());
    h.start();
  }
  h.written();
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].gen, Generation{1 + kSuspectDeaths + kLoneDeathsMax});
  h.end(h.jobs[0]);
  h.written();
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
}

TEST(Redrive, ACancelThatWasNotTakenDiesWithItsEngine) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.core.on_message(CancelStream{.stream = id}, h.now);
  h.pass(EngineDown{kModel});
  EXPECT_THAT(h.cancels, IsEmpty());
}

TEST(Journalled, AJobThatNeverLeftIsNotChargedWithADeath) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run();
  for (std::uint32_t i = 0; i < kSuspectDeaths + kLoneDeathsMax; ++i) replace_engine(h);
  h.written();
  ASSERT_THAT(h.jobs, SizeIs(1));  // The last one only.
  h.end(h.jobs[0]);
  h.written();
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
}

TEST(Journalled, AServerThatStartsAgainContinuesWhereItWas) {
  Harness before{Disk{}};
  before.start(1);
  const StreamId running =
      before.run({.sampling = {.seed = 5}, .seeded = true, .text = {.stop = {"zz"}}});
  const StreamId queued = before.run();
  before.say(before.jobs[0], "ab");

  Harness h{before.segments};
  EXPECT_EQ(h.core.streams_active(), 2U);
  h.attach(running, {1});
  EXPECT_EQ(h.resumed.at(0).state, StreamState::recovering);
  EXPECT_EQ(h.resumed[0].head, Offset{2});
  EXPECT_THAT(h.jobs, IsEmpty());
  h.start(1);
  ASSERT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.jobs[0].gen, Generation{2});
  EXPECT_THAT(h.jobs[0].committed, ElementsAre(letter('a'), letter('b')));
  EXPECT_EQ(h.jobs[0].sampling.seed, 5U);
  EXPECT_EQ(h.jobs[0].prompt, before.jobs[0].prompt);
  h.say(h.jobs[0], "zxzz");
  const stream::TokenLog& log = *h.resumed[0].stream.log;
  std::string text;
  log.append_text({0}, log.head().end, text);
  EXPECT_EQ(text, "abzx");
  EXPECT_EQ(log.terminal().reason, stream::FinishReason::stop);
  h.attach(queued);
  EXPECT_EQ(h.resumed.at(1).state, StreamState::recovering);
}

TEST(Journalled, WhatWasFinishedIsServedAndItsKeyHolds) {
  Harness before{Disk{}};
  before.start();
  const StreamId id = before.run({.key = "k"});
  before.say(before.jobs[0], "ab");
  before.end(before.jobs[0]);

  Harness h{before.segments};
  h.attach(id, {2});
  ASSERT_THAT(h.resumed, SizeIs(1));
  EXPECT_EQ(h.resumed[0].stream.log->terminal(), before.terminal());
  EXPECT_EQ(h.resumed[0].stream.log->token({1}), letter('b'));
  h.start();
  h.submit({.key = "k"});
  ASSERT_THAT(h.acceptances, SizeIs(1));
  EXPECT_EQ(h.accepted().stream, id);
  EXPECT_TRUE(h.accepted().attached);
}

TEST(Journalled, TheGraceOfWhomNobodyReadsBeginsWhenTheServerIsReady) {
  Harness before{Disk{}};
  before.start();
  before.run();
  Harness h{before.segments, Writing::at_once, {.detach_ttl = seconds{100}}};
  h.advance(seconds{90});
  h.pass(VocabularyEvent{kModel, text::VocabularyReady{.pieces = letters()}});
  h.advance(seconds{90});
  h.start();
  h.advance(seconds{99});
  EXPECT_EQ(h.core.streams_active(), 1U);
  h.advance(seconds{1});
  EXPECT_EQ(h.core.streams_active(), 0U);
}

// Logprobs are shown by the pieces of the vocabulary.
TEST(Journalled, AKeyWaitsForThePiecesThatItsStreamIsShownBy) {
  Harness before{Disk{}};
  before.start();
  before.run({.sampling = {.logprobs = true}, .key = "scored"});
  before.run({.key = "plain"});
  {
    Harness h{before.segments};
    h.submit({.key = "plain"});
    EXPECT_THAT(h.acceptances, SizeIs(1));
    h.submit({.key = "scored"});
    ASSERT_THAT(h.refusals, SizeIs(1));
    EXPECT_EQ(h.refusals[0].code, ErrorCode::model_loading);
    EXPECT_GT(h.refusals[0].retry_after_ms, 0U);
    h.start();
    h.submit({.key = "scored"});
    ASSERT_THAT(h.acceptances, SizeIs(2));
    EXPECT_NE(h.accepted(1).pieces, nullptr);
  }
  stream::Recovery recovery = Harness::recovered(before.segments);
  for (auto& one : recovery.streams) one.state.header.model = "gone@1";
  Harness h{std::move(recovery)};
  h.submit({.key = "scored"});
  ASSERT_THAT(h.acceptances, SizeIs(1));
  EXPECT_EQ(h.accepted().pieces, nullptr);
}

// A key that the loss of power freed too early.
TEST(Journalled, OfTwoStreamsWithOneKeyTheNewestHasIt) {
  Harness before{Disk{}};
  before.start();
  const StreamId older = before.run({.key = "k"});
  before.end(before.jobs[0]);
  const StreamId newer = before.run({.key = "l"});
  stream::Recovery recovery = Harness::recovered(before.segments);
  recovery.streams.at(1).state.header.key = "k";
  Harness h{std::move(recovery)};
  h.start();
  h.submit({.key = "k"});
  ASSERT_THAT(h.acceptances, SizeIs(1));
  EXPECT_EQ(h.accepted().stream, newer);
  h.pass(Acknowledge{.principal = {}, .stream = older, .from = {1}});
  h.advance(seconds{10});
  h.attach(older);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_expired);
  h.submit({.key = "k"});
  ASSERT_THAT(h.acceptances, SizeIs(2));
  EXPECT_EQ(h.accepted(1).stream, newer);
}

// The steady clock stood still meanwhile.
TEST(Journalled, WhatEndedAfterTheMachineSleptIsKeptAsLongAsEver) {
  using std::chrono::hours;
  const WallTime woke = Harness::kClocks.wall + hours{8};
  Harness before{Disk{}};
  before.start();
  const StreamId id = before.run();
  before.core.on_clocks({before.now, woke});
  before.end(before.jobs[0]);
  before.attach(id);
  EXPECT_EQ(before.resumed.at(0).stream.expires_at, woke + seconds{600});

  Core core{{},
            {{.name = "letters", .digest = "d"}},
            {kStart, woke + seconds{1}},
            JournalStart{{}, Harness::recovered(before.segments)}};
  core.on_time(kStart);
  EXPECT_EQ(core.deadline(), kStart + seconds{599});
}

// Copied forward, too, an end keeps its time.
TEST(Journalled, AnEndHasOneTime) {
  Harness h{Disk{},
            Writing::at_once,
            {.acked_ttl = seconds{1}},
            {.segment_bytes = 512, .segments_max = 2}};
  h.start();
  h.run();
  h.end(h.jobs[0]);
  h.core.on_clocks({h.now, Harness::kClocks.wall + std::chrono::hours{8}});
  while (h.removed.empty()) {
    const StreamId id = h.run();
    h.end(h.jobs.back());
    h.pass(Acknowledge{.principal = {}, .stream = id, .from = {1}});
    h.advance(seconds{1});
  }
  const stream::Recovery recovery = Harness::recovered(h.segments);
  ASSERT_TRUE(recovery.streams.at(0).state.ended);
  EXPECT_EQ(recovery.streams[0].state.ended->at, Harness::kClocks.wall);
}

TEST(Journalled, AStreamWhoseClientCannotComeBackIsNotContinued) {
  Harness before{Disk{}};
  before.start();
  const StreamId id = before.run({.surface = Surface::chat});
  before.say(before.jobs[0], "ab");
  Harness h{before.segments};
  h.start();
  EXPECT_THAT(h.jobs, IsEmpty());
  h.attach(id);
  EXPECT_EQ(h.resumed.at(0).stream.log->terminal().reason, stream::FinishReason::cancelled);
}

TEST(Journalled, StartsWithoutATokenAreCounted) {
  Harness first{Disk{}};
  first.start();
  const StreamId id = first.run();
  Disk disk = first.segments;
  for (std::uint32_t i = 0; i < kServerStartsMax; ++i) {
    Harness h{disk};
    h.start();
    ASSERT_THAT(h.jobs, SizeIs(1)) << i;
    disk = h.segments;
  }
  Harness h{disk};
  h.start();
  EXPECT_THAT(h.jobs, IsEmpty());
  h.attach(id);
  EXPECT_EQ(h.resumed.at(0).stream.log->terminal().problem->code, ErrorCode::engine_failed);
}

TEST(Journalled, ALogThatMayHaveLostTokensHasANewEpoch) {
  Harness before{Disk{}};
  before.start();
  const StreamId running = before.run();
  const StreamId done = before.run();
  const StreamId orphan = before.run({.surface = Surface::chat});  // Is cancelled.
  before.say(before.jobs[0], "ab");
  before.end(before.jobs[1]);
  before.say(before.jobs[2], "ab");
  stream::Recovery recovery = Harness::recovered(before.segments);
  recovery.lost_tail = true;
  recovery.epoch_step = 7;
  Core core{{}, {{.name = "letters", .digest = "d"}}, {}, JournalStart{{}, std::move(recovery)}};
  while (core.next()) {
  }
  core.on_message(JournalWritten{1}, kStart);
  const auto attach = [&](StreamId stream, std::uint64_t request) {
    core.on_message(Attach{.reply_to = {.request = request},
                           .principal = {},
                           .stream = stream,
                           .from = {1},
                           .epoch = Epoch{1}},
                    kStart);
    return std::get<Reply>(*core.next()).body;
  };
  for (const StreamId stream : {running, orphan}) {
    const Problem problem = std::get<Refused>(attach(stream, 1)).problem;
    EXPECT_EQ(problem.code, ErrorCode::epoch_mismatch);
    EXPECT_EQ(problem.numbers.at(0).value, 1 + 7);
  }
  EXPECT_EQ(std::get<Resumed>(attach(done, 2)).head, Offset{1});
}

TEST(Journalled, NothingIsShownUnderAnEpochThatIsNotWritten) {
  Harness before{Disk{}};
  before.start();
  const StreamId id = before.run({.key = "k"});
  before.say(before.jobs[0], "ab");
  stream::Recovery recovery = Harness::recovered(before.segments);
  recovery.lost_tail = true;
  recovery.epoch_step = 1;
  Harness h{std::move(recovery), Writing::by_hand};
  h.start();
  h.attach(id, {}, std::nullopt);
  h.attach(id, {1}, Epoch{1});  // Even that it is over.
  h.submit({.key = "k"});
  h.pass(ListStreams{.reply_to = {}, .principal = {}});
  EXPECT_THAT(h.lists.at(0).streams, IsEmpty());
  EXPECT_THAT(h.resumed, IsEmpty());
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_THAT(h.acceptances, IsEmpty());
  h.written();
  ASSERT_THAT(h.resumed, SizeIs(1));
  EXPECT_EQ(h.resumed[0].stream.epoch, Epoch{2});
  EXPECT_EQ(h.resumed[0].head, Offset{2});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::epoch_mismatch);
  EXPECT_THAT(h.acceptances, SizeIs(1));
}

TEST(Journalled, ADrainLeavesToTheJournalWhatCanComeBack) {
  Harness h{Disk{}};
  h.start(3);
  h.run();
  h.run({.surface = Surface::chat});
  h.pass(Drain{kStart + seconds{5}});
  h.say(h.jobs[0], "ab");
  EXPECT_FALSE(h.core.drained());
  h.advance(seconds{5});
  EXPECT_TRUE(h.core.drained());
  EXPECT_FALSE(h.accepted(0).log->head().done);
  EXPECT_EQ(h.terminal(1).reason, stream::FinishReason::cancelled);
  Harness after{h.segments};
  after.start();
  ASSERT_THAT(after.jobs, SizeIs(1));
  EXPECT_THAT(after.jobs[0].committed, SizeIs(2));
}

TEST(Journalled, ADrainWaitsForNobodyWhomNobodyReads) {
  Harness h{Disk{}};
  h.start();
  const StreamId id = h.run();
  h.pass(Drain{kStart + seconds{5}});
  EXPECT_FALSE(h.core.drained());
  h.gone(id);
  EXPECT_TRUE(h.core.drained());
}

}  // namespace
}  // namespace seedance::core
