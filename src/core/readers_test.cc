// Coming to a stream, coming back, going; keys, lists and retention.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr stream::Sha256 kBody{1};
constexpr stream::Sha256 kOther{2};

TEST(Readers, AStreamIsThereForReadersAfterItsEnd) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.say(h.jobs[0], "hi");
  h.end(h.jobs[0]);
  h.attach(id, {1});
  ASSERT_THAT(h.resumed, SizeIs(1));
  EXPECT_EQ(h.resumed[0].from, Offset{1});
  EXPECT_EQ(h.resumed[0].head, Offset{3});
  EXPECT_EQ(h.resumed[0].state, StreamState::done);
  EXPECT_TRUE(h.resumed[0].stream.attached);
  EXPECT_EQ(h.resumed[0].stream.log, h.accepted().log);
  h.advance(seconds{600});
  h.attach(id);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_expired);
}

TEST(Readers, WhoCameBackIsWokenWithTheOthers) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.pass(Attach{.reply_to = {.edge = {3}, .request = 1},
                .principal = {},
                .stream = id,
                .from = {0},
                .epoch = {}});
  h.wakes.clear();
  h.say(h.jobs[0], "a");
  ASSERT_THAT(h.wakes, SizeIs(2));
  EXPECT_EQ(h.wakes[0].edge, EdgeId{0});
  EXPECT_EQ(h.wakes[1].edge, EdgeId{3});
  h.gone(id);
  h.wakes.clear();
  h.say(h.jobs[0], "b");
  ASSERT_THAT(h.wakes, SizeIs(1));
  EXPECT_EQ(h.wakes[0].edge, EdgeId{3});
}

// The stream grew meanwhile, and nothing else did.
TEST(Readers, WhoComesBackToAStreamThatNobodyReadIsWoken) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.gone(id);
  h.say(h.jobs[0], "a");
  h.attach(id);
  h.wakes.clear();
  h.say(h.jobs[0], "b");
  EXPECT_THAT(h.wakes, SizeIs(1));
}

TEST(Readers, APositionIsCheckedBeforeItIsTrusted) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.say(h.jobs[0], "abc");
  h.attach(id, {4});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::cursor_ahead);
  h.attach(id, {3}, Epoch{2});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::epoch_mismatch);
  h.attach({7, 7});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
  h.pass(Attach{.reply_to = {.request = 900},
                .principal = {.tenant = "other"},
                .stream = id,
                .from = {0},
                .epoch = {}});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
  EXPECT_THAT(h.resumed, IsEmpty());
  h.attach(id, {3});
  EXPECT_EQ(h.resumed.back().state, StreamState::decode);
}

TEST(Readers, ComingBackStopsTheGrace) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.gone(id);
  h.advance(seconds{299});
  h.attach(id);
  h.advance(seconds{299});
  EXPECT_FALSE(h.accepted().log->head().done);
}

TEST(Readers, BoundsTheReadersOfOneStream) {
  Harness h{{.readers_max = 2}};
  h.start();
  const StreamId id = h.run();
  h.attach(id);
  h.attach(id);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_limit);
}

TEST(Readers, AKeyThatComesAgainAttaches) {
  Harness h;
  h.start();
  const StreamId first = h.submit({.key = "k"}, kBody);
  h.submit({.key = "k"}, kBody);  // While the first is being prepared.
  EXPECT_THAT(h.prepares, SizeIs(1));
  h.prepared();
  h.submit({.key = "k"}, kBody);
  h.say(h.jobs[0], "ab");
  h.end(h.jobs[0]);
  h.submit({.key = "k"}, kBody);
  ASSERT_THAT(h.acceptances, SizeIs(4));
  for (const Accepted& accepted : h.acceptances) EXPECT_EQ(accepted.stream, first);
  EXPECT_FALSE(h.accepted(0).attached);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(h.accepted(i).attached);
  EXPECT_THAT(h.jobs, SizeIs(1));
}

TEST(Readers, AKeyOfAnotherRequestIsRefusedAndARefusalBindsNone) {
  Harness h;
  h.start();
  h.submit({.key = "k"}, kBody);
  h.submit({.key = "k"}, kOther);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::idempotency_mismatch);
  h.prepared(kContext);  // Too long: refused, so that the key is free.
  EXPECT_EQ(h.refusals.back().code, ErrorCode::context_length_exceeded);
  h.submit({.key = "k"}, kOther);
  h.prepared();
  EXPECT_FALSE(h.accepted().attached);
}

TEST(Readers, AKeyLivesAsLongAsItsStream) {
  Harness h;
  h.start();
  h.run({.key = "k"});
  h.end(h.jobs[0]);
  h.advance(seconds{600});
  h.run({.key = "k"});
  EXPECT_FALSE(h.accepted(1).attached);
}

TEST(Readers, AnAcknowledgedStreamIsKeptShorter) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.say(h.jobs[0], "ab");
  h.pass(Acknowledge{.principal = {}, .stream = id, .from = {2}});  // Not done yet.
  h.end(h.jobs[0]);
  h.pass(Acknowledge{.principal = {}, .stream = id, .from = {2}});  // Not its total.
  h.advance(seconds{10});
  h.attach(id);
  EXPECT_THAT(h.resumed, SizeIs(1));
  h.pass(Acknowledge{.principal = {}, .stream = id, .from = {3}});
  h.advance(seconds{10});
  h.attach(id);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_expired);
}

TEST(Readers, ListsWhatIsOnesOwnTheNewestFirst) {
  Harness h;
  h.start(1);
  const StreamId done = h.run();
  h.end(h.jobs[0]);
  const StreamId running = h.run();
  h.submit();  // Not accepted yet: no stream.
  h.pass(ListStreams{.reply_to = {}, .principal = {}});
  h.pass(ListStreams{.reply_to = {}, .principal = {.tenant = "other"}});
  const auto& mine = h.lists.at(0).streams;
  ASSERT_THAT(mine, SizeIs(2));
  EXPECT_EQ(mine[0].stream, running);
  EXPECT_EQ(mine[0].state, StreamState::prefill);
  EXPECT_EQ(mine[1].stream, done);
  EXPECT_EQ(mine[1].finish_reason, stream::FinishReason::stop);
  EXPECT_THAT(h.lists.at(1).streams, IsEmpty());
}

TEST(Readers, ACancelOfAnEndedStreamChangesNothing) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.end(h.jobs[0]);
  h.pass(CancelStream{.reply_to = {}, .principal = {}, .stream = id});
  EXPECT_THAT(h.cancelled, ElementsAre(id));
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
}

TEST(Readers, KeepsSoManyEndedStreams) {
  Harness h{{.streams_kept_max = 2}};
  h.start();
  std::vector<StreamId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(h.run());
    h.end(h.jobs.back());
  }
  h.attach(ids[0]);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_expired);
  h.attach(ids[1]);
  EXPECT_THAT(h.resumed, SizeIs(1));
}

// However long ago it began.
TEST(Readers, KeepsWhatEndedLast) {
  Harness h{{.streams_kept_max = 2}};
  h.start(3);
  const StreamId a = h.run({.key = "a"});
  const StreamId b = h.run({.key = "b"});
  const StreamId c = h.run();
  for (const std::size_t i : {1U, 2U, 0U}) {
    h.advance(seconds{1});
    h.end(h.jobs[i]);
  }
  h.attach(b);
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::stream_expired);
  h.attach(a);
  h.attach(c);
  EXPECT_THAT(h.resumed, SizeIs(2));
  h.submit({.key = "a"});
  EXPECT_EQ(h.acceptances.back().stream, a);
}

TEST(Readers, AListThatIsFullHoldsWhatRuns) {
  Harness h{{.listed_max = 2}};
  h.start(3);
  const StreamId running = h.run();
  for (int i = 0; i < 3; ++i) {
    h.run();
    h.end(h.jobs.back());
  }
  h.pass(ListStreams{.reply_to = {}, .principal = {}});
  const auto& streams = h.lists.at(0).streams;
  ASSERT_THAT(streams, SizeIs(2));
  EXPECT_EQ(streams[1].stream, running);
}

TEST(Readers, KeepsNoMoreWhenManyEndTogether) {
  Harness h{{.streams_kept_max = 2}};
  h.start(4);
  for (int i = 0; i < 4; ++i) h.run();
  std::vector<engine::StepToken> ends;
  ends.reserve(h.jobs.size());
  for (const engine::Job& job : h.jobs) {
    ends.push_back({.job = job.id, .gen = job.gen, .token = kEnd, .end = engine::JobEnd::stop});
  }
  h.step(std::move(ends));
  h.advance({});
  EXPECT_EQ(h.core.stats().streams_kept.value(), 2);
}

// The journal stands still, and what the reply shows is written.
TEST(Readers, WhatIsWrittenIsAnsweredAtOnce) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  const StreamId ended = h.run();
  const StreamId running = h.run({.key = "k"});
  h.written();
  h.say(h.jobs[1], "ab");
  h.end(h.jobs[0]);
  h.written();
  h.say(h.jobs[1], "c");
  h.attach(running, {1});
  ASSERT_THAT(h.resumed, SizeIs(1));
  EXPECT_EQ(h.resumed[0].head, Offset{2});
  h.submit({.key = "k"});
  EXPECT_THAT(h.acceptances, SizeIs(3));
  h.pass(CancelStream{.stream = ended});
  EXPECT_THAT(h.cancelled, ElementsAre(ended));
  h.pass(CancelStream{.stream = running});
  EXPECT_THAT(h.cancelled, SizeIs(1));  // Its end is not written.
  h.written();
  EXPECT_THAT(h.cancelled, ElementsAre(ended, running));
}

TEST(Readers, WhoIsGoneIsNotAnsweredLater) {
  Harness h{Disk{}, Writing::by_hand};
  h.start();
  h.run({.key = "k"});
  const StreamId second = h.submit({.key = "k"});
  const StreamId third = h.submit({.key = "k"});
  h.gone(second);
  EXPECT_THAT(h.acceptances, IsEmpty());
  h.written();
  EXPECT_THAT(h.acceptances, SizeIs(2));
  EXPECT_THAT(h.acceptances, ::testing::Each(::testing::Field(&Accepted::stream, StreamId{1, 1})));
  h.gone(third);
}

TEST(Readers, BoundsTheCancelsThatWaitForTheJournal) {
  Harness h{Disk{}, Writing::by_hand, {.readers_max = 2}};
  h.start();
  const StreamId id = h.run();
  h.written();
  for (int i = 0; i < 3; ++i) h.pass(CancelStream{.stream = id});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  h.written();
  EXPECT_THAT(h.cancelled, ElementsAre(id, id));
}

}  // namespace
}  // namespace seedance::core
