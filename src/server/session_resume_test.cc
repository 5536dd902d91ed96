// How sessions come back to streams, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/digest.h"
#include "api/event_id.h"
#include "server/test_session.h"

namespace seedance::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class WsResumeTest : public WsSessionTest {
 protected:
  WsResumeTest() : WsSessionTest(Duration::zero()) {}

  // As the core answers an Attach.
  void attach(Offset from) {
    reader_ = told_only<core::Attach>().reply_to;
    reply(session_, reader_, resumed(kOther, from));
  }
  std::uint16_t close_code() {
    const auto all = frames();
    if (all.empty() || all.back().first != wire::Opcode::close) return 0;
    return load<std::uint16_t>(as_bytes(all.back().second).data(), std::endian::big);
  }
};

TEST_F(WsResumeTest, GoesOnWhereTheClientIs) {
  grow(5);
  resume(R"(,"seq":2,"epoch":1,"with":["tokens"])");
  const auto asked = told_only<core::Attach>();
  EXPECT_EQ(asked.stream, kOther);
  EXPECT_EQ(asked.from, Offset{2});
  EXPECT_EQ(asked.epoch, Epoch{1});
  reply(session_, asked.reply_to, resumed(kOther, {2}));
  const auto got = messages();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].at("type"), "RESUMED");
  EXPECT_EQ(got[0].at("id"), "a");
  EXPECT_EQ(got[0].at("from"), 2);
  EXPECT_EQ(got[0].at("head"), 5);
  EXPECT_EQ(got[1].at("seq"), 2);
  EXPECT_EQ(got[1].at("n"), 3);
  EXPECT_TRUE(got[1].contains("tokens"));
  grow();
  end();
  const auto rest = messages();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].at("seq"), 5);
  EXPECT_EQ(rest[1].at("type"), "INFER_DONE");
  session_.on_gone();
  EXPECT_TRUE(told().empty()) << "the end was read";
  EXPECT_EQ(counters_.resumes[static_cast<std::size_t>(ResumeCause::native)].value(), 1U);
}

TEST_F(WsResumeTest, ARefusalNamesBothAndFreesTheId) {
  resume();
  reply(session_, told_only<core::Attach>().reply_to,
        core::Refused{{.code = ErrorCode::epoch_mismatch, .message = "no"}});
  const auto got = messages();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].at("code"), "epoch_mismatch");
  EXPECT_EQ(got[0].at("id"), "a");
  EXPECT_EQ(std::string_view{got[0].at("stream").as_string()}, to_text(kOther));
  resume();
  attach({});
  EXPECT_EQ(messages().at(0).at("type"), "RESUMED");
}

TEST_F(WsResumeTest, AnIdIsUsedByOneStreamAtATime) {
  resume();
  attach({});
  resume();
  EXPECT_EQ(messages().back().at("param"), "id");
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  EXPECT_EQ(messages().back().at("param"), "id");
  EXPECT_TRUE(told().empty());
}

TEST_F(WsResumeTest, SeveralReadersOfOneStreamGetItEach) {
  resume();
  attach({});
  send(fmt::format(R"({{"type":"RESUME","id":"b","stream":"{}"}})", to_text(kOther)));
  attach({});
  grow(3);
  end();
  std::map<std::string, std::int64_t> tokens;
  for (const auto& message : messages()) {
    if (message.at("type") != "INFER_CHUNK") continue;
    tokens[message.at("id").as_string().c_str()] += message.at("n").as_int64();
  }
  EXPECT_THAT(tokens, testing::ElementsAre(testing::Pair("a", 3), testing::Pair("b", 3)));
}

TEST_F(WsResumeTest, EveryReaderThatGoesSaysSo) {
  resume();
  attach({});
  send(R"({"type":"INFER_REQ","id":"b","prompt":"x"})");
  const auto pending = told_only<core::Submit>().reply_to;
  session_.on_gone();
  const auto gone = told();
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(std::get<core::ReaderGone>(gone[0]).reader, reader_);
  EXPECT_EQ(std::get<core::ReaderGone>(gone[1]).reader, pending);
}

TEST_F(WsResumeTest, ExtrasThatTheLogLacksAreRefused) {
  resume(R"(,"with":["logprobs"])");
  attach({});
  const auto got = messages();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].at("param"), "with");
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
}

TEST_F(WsResumeTest, AKeyMayLeadToAnotherStream) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x","key":"k"})");
  const auto submit = told_only<core::Submit>();
  EXPECT_EQ(submit.request.key, "k");
  EXPECT_EQ(submit.body, api::digest_of(submit.request));
  grow(2);
  core::Accepted there = accepted(kOther);
  there.attached = true;
  reply(session_, submit.reply_to, there);
  const auto got = messages();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].at("attached"), true);
  EXPECT_EQ(std::string_view{got[0].at("stream").as_string()}, to_text(kOther));
  EXPECT_EQ(got[1].at("seq"), 0);
  send(R"({"type":"CANCEL","id":"a"})");
  EXPECT_EQ(told_only<core::CancelStream>().stream, kOther);
  EXPECT_EQ(counters_.resumes[static_cast<std::size_t>(ResumeCause::key)].value(), 1U);
}

TEST_F(WsResumeTest, ARequestWithoutAKeyHasNoDigest) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  EXPECT_EQ(told_only<core::Submit>().body, stream::Sha256{});
}

// The stream that the key names has an id that nobody here knows yet.
TEST_F(WsResumeTest, ACancelBeforeTheKeysStreamIsKnownIsNotForgotten) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x","key":"k"})");
  const auto submit = told_only<core::Submit>();
  send(R"({"type":"CANCEL","id":"a"})");
  reply(session_, told_only<core::CancelStream>().reply_to,
        core::Refused{{.code = ErrorCode::stream_not_found, .message = "no"}});
  EXPECT_TRUE(messages().empty());
  reply(session_, submit.reply_to, accepted(kOther));
  EXPECT_EQ(told_only<core::CancelStream>().stream, kOther);
}

TEST_F(WsResumeTest, AnAckNamesAStreamThatEndedHere) {
  resume();
  attach({});
  send(R"({"type":"ACK","id":"a","seq":1})");  // It runs: too early to mean anything.
  EXPECT_TRUE(told().empty());
  grow();
  end();
  EXPECT_EQ(messages().back().at("type"), "INFER_DONE");
  send(R"({"type":"ACK","id":"a","seq":1})");
  const auto ack = told_only<core::Acknowledge>();
  EXPECT_EQ(ack.stream, kOther);
  EXPECT_EQ(ack.from, Offset{1});
  send(R"({"type":"CANCEL","id":"a"})");  // Its end was told.
  EXPECT_TRUE(told().empty());
  EXPECT_TRUE(messages().empty());
  send(R"({"type":"ACK","id":"b","seq":1})");
  EXPECT_EQ(messages().at(0).at("code"), "stream_not_found");
}

TEST_F(WsResumeTest, AnAckMayNameAnyStream) {
  send(fmt::format(R"({{"type":"ACK","stream":"{}","seq":9}})", to_text(kOther)));
  EXPECT_EQ(told_only<core::Acknowledge>().stream, kOther);
  EXPECT_TRUE(messages().empty());
}

TEST_F(WsResumeTest, TheLastStreamsToEndCanBeNamed) {
  end();
  for (int i = 0; i < 65; ++i) {
    send(fmt::format(R"({{"type":"INFER_REQ","id":"s{}","prompt":"x"}})", i));
    accept(session_);
    EXPECT_EQ(messages().back().at("type"), "INFER_DONE");
  }
  send(R"({"type":"ACK","id":"s0","seq":0})");
  EXPECT_EQ(messages().at(0).at("code"), "stream_not_found");
  send(R"({"type":"ACK","id":"s1","seq":0})");
  send(R"({"type":"ACK","id":"s64","seq":0})");
  EXPECT_EQ(told().size(), 2U);
}

TEST_F(WsResumeTest, WhatIsTakenBackIsToldAgainFromTheSamePlace) {
  resume();
  attach({});
  grow(4);
  Rendering out;
  session_.render(out, kPlenty, kNow);
  ASSERT_EQ(out.frames.size(), 1U);
  session_.take_back(out.frames[0]);
  session_.on_sent(kNow);
  end();
  const auto again = messages();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].at("seq"), 0);
  EXPECT_EQ(again[0].at("n"), 4);
  EXPECT_EQ(counters_.seq_gaps.value(), 0U);
  EXPECT_EQ(counters_.frame_losses.value(), 0U);
}

// The self-check sees what a fault of the connection would cost the client.
TEST_F(WsResumeTest, ATokenThatIsSkippedIsCounted) {
  resume();
  attach({});
  grow(4);
  Rendering out;
  session_.render(out, kPlenty, kNow);
  Rendering::Frame wrong = out.frames[0];
  wrong.before.next = {9};  // Ahead of everything.
  grow(6);
  session_.take_back(wrong);
  EXPECT_EQ(counters_.seq_gaps.value(), 1U);
  end();
  messages();
  EXPECT_EQ(counters_.seq_gaps.value(), 2U);
  EXPECT_EQ(counters_.frame_losses.value(), 1U);
}

TEST_F(WsResumeTest, ADrainSaysGoodbyeFirst) {
  resume();
  attach({});
  messages();
  session_.on_drain(kNow);
  const auto goaway = messages();
  ASSERT_EQ(goaway.size(), 1U);
  EXPECT_EQ(goaway[0].at("type"), "GOAWAY");
  EXPECT_EQ(goaway[0].at("reason"), "drain");
  EXPECT_EQ(goaway[0].at("reconnect_within_ms"), 7000);
  send(R"({"type":"INFER_REQ","id":"b","prompt":"x"})");
  EXPECT_EQ(messages().at(0).at("code"), "overloaded");
  EXPECT_TRUE(told().empty());
  grow();
  end();
  const auto all = frames();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[1].second, HasSubstr("INFER_DONE"));
  EXPECT_EQ(all[2].first, wire::Opcode::close);
  EXPECT_THAT(all[2].second, StartsWith("\x03\xF4"));  // 1012.
}

TEST_F(WsResumeTest, ADrainEndsAnIdleConnection) {
  session_.on_drain(kNow);
  const auto all = frames();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[0].second, HasSubstr("GOAWAY"));
  EXPECT_THAT(all[1].second, StartsWith("\x03\xF4"));
}

TEST_F(WsResumeTest, TheEndOfADrainLeavesStreamsToTheJournal) {
  resume();
  attach({});
  messages();
  session_.on_farewell(Session::Farewell::restart, kNow);
  EXPECT_EQ(close_code(), 1012);
  EXPECT_TRUE(told().empty());
}

TEST_F(WsResumeTest, AReaderThatStallsIsGoneAndToldSo) {
  resume();
  attach({});
  grow();
  session_.on_blocked(kNow);
  session_.on_farewell(Session::Farewell::stalled, kNow);
  EXPECT_EQ(close_code(), 1013);
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
}

class HttpResumeTest : public HttpSessionTest {
 protected:
  HttpResumeTest() : HttpSessionTest(Duration::zero()) {}

  void attach(Offset from, core::Surface surface = core::Surface::chat) {
    reader_ = told_only<core::Attach>().reply_to;
    core::Resumed answer = resumed(kOther, from);
    answer.stream.surface = surface;
    reply(session_, reader_, answer);
  }
  std::string id(std::uint64_t next) const {
    return api::to_text(api::EventId{kOther, {1}, {next}});
  }
};

TEST_F(HttpResumeTest, TheLastEventSaysWhereToGoOn) {
  grow(5);
  get_stream("?from=1&epoch=9", fmt::format("Last-Event-ID: {}\r\n", id(3)));
  const auto asked = told_only<core::Attach>();
  EXPECT_EQ(asked.stream, kOther);
  EXPECT_EQ(asked.from, Offset{3});
  EXPECT_EQ(asked.epoch, Epoch{1});
  core::Resumed answer = resumed(kOther, {3});
  answer.stream.surface = core::Surface::completions;
  answer.stream.include_usage = true;
  reply(session_, asked.reply_to, answer);
  end();
  const std::string got = render(session_, kNow);
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(got, HasSubstr("Seedance-Stream: " + to_text(kOther) + "\r\n"));
  EXPECT_THAT(got, HasSubstr("id: " + id(5) + "\n"));
  EXPECT_THAT(got, HasSubstr(R"("text":"word word ")"));
  EXPECT_THAT(got, HasSubstr(R"("completion_tokens":5)"));
  EXPECT_THAT(got, HasSubstr("data: [DONE]"));
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(counters_.resumes[static_cast<std::size_t>(ResumeCause::sse)].value(), 1U);
  EXPECT_EQ(counters_.seq_gaps.value() + counters_.frame_losses.value(), 0U);
}

TEST_F(HttpResumeTest, AChatHasItsRoleOnlyAtItsBeginning) {
  grow(5);
  end();
  for (const std::uint64_t from : {0U, 2U}) {
    get_stream(fmt::format("?from={}&epoch=1", from));
    attach({from});
    const std::string got = render(session_, kNow);
    EXPECT_EQ(got.find(R"("role":"assistant")") != std::string::npos, from == 0) << got;
    EXPECT_THAT(got, HasSubstr("chat.completion.chunk"));
  }
}

TEST_F(HttpResumeTest, ANativeStreamIsShownInItsOwnMessages) {
  grow(2);
  get_stream("?with=tokens");
  attach({}, core::Surface::native);
  const std::string got = render(session_, kNow);
  EXPECT_THAT(got, HasSubstr(R"(data: {"type":"RESUMED")"));
  EXPECT_THAT(got, HasSubstr(R"({"type":"INFER_CHUNK","seq":0,"n":2,)"));
  EXPECT_THAT(got, HasSubstr(R"("tokens":[1,1])"));
}

TEST_F(HttpResumeTest, TheApiCanBeChosen) {
  grow(2);
  get_stream("?as=chat");
  attach({}, core::Surface::native);
  EXPECT_THAT(render(session_, kNow), HasSubstr("chat.completion.chunk"));
}

TEST_F(HttpResumeTest, WrongPositionsAreRefused) {
  get_stream("?from=1");
  EXPECT_THAT(render(session_, kNow), AllOf(HasSubstr(" 400 "), HasSubstr(R"("param":"epoch")")));
  get_stream("", "Last-Event-ID: 7\r\n");
  EXPECT_THAT(render(session_, kNow), HasSubstr(R"("param":"Last-Event-ID")"));
  get_stream("?as=native&with=logprobs");
  attach({}, core::Surface::native);
  EXPECT_THAT(render(session_, kNow), HasSubstr(R"("param":"with")"));
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
  get_stream("?from=9&epoch=1");
  reply(session_, told_only<core::Attach>().reply_to,
        core::Refused{{.code = ErrorCode::cursor_ahead, .message = "no"}});
  EXPECT_THAT(render(session_, kNow), AllOf(HasSubstr(" 409 "), HasSubstr("cursor_ahead")));
  request("GET", "/v1/streams/st_1");
  EXPECT_THAT(render(session_, kNow), AllOf(HasSubstr(" 404 "), HasSubstr("stream_not_found")));
  EXPECT_TRUE(told().empty());
}

TEST_F(HttpResumeTest, HeadTellsTheHeadAndReadsNothing) {
  request("HEAD", "/v1/streams/" + to_text(kOther));
  attach({});
  const std::string got = render(session_, kNow);
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, testing::EndsWith("\r\n\r\n"));
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
}

TEST_F(HttpResumeTest, ListsAndCancels) {
  request("GET", "/v1/streams");
  reply(session_, told_only<core::ListStreams>().reply_to,
        core::StreamList{{{.stream = kOther, .state = core::StreamState::decode}}});
  EXPECT_THAT(render(session_, kNow), HasSubstr(to_text(kOther)));
  request("DELETE", "/v1/streams/" + to_text(kOther));
  const auto cancel = told_only<core::CancelStream>();
  EXPECT_EQ(cancel.stream, kOther);
  reply(session_, cancel.reply_to, core::CancelDone{kOther});
  EXPECT_THAT(render(session_, kNow), HasSubstr("stream.cancelled"));
  request("DELETE", "/v1/streams/" + to_text(kOther));
  session_.on_gone();
  EXPECT_EQ(told().size(), 1U) << "who does not read gives nothing up";
}

TEST_F(HttpResumeTest, AKeyIsReadFromItsHeader) {
  ask("Idempotency-Key: k 1\r\n");
  const auto submit = told_only<core::Submit>();
  EXPECT_EQ(submit.request.key, "k 1");
  EXPECT_EQ(submit.body, api::digest_of(submit.request));
  core::Accepted there = accepted(kOther);
  there.attached = true;
  reply(session_, submit.reply_to, there);
  EXPECT_THAT(render(session_, kNow), HasSubstr("Seedance-Stream: " + to_text(kOther) + "\r\n"));
  EXPECT_EQ(counters_.resumes[static_cast<std::size_t>(ResumeCause::key)].value(), 1U);
}

// A stream that was recovered, before the vocabulary of its model is there.
TEST_F(HttpResumeTest, AStreamWhoseTokensHaveNoNamesIsShownWithoutLogprobs) {
  log_ = std::make_shared<stream::TokenLog>(true);
  const stream::TokenLogprobs logprobs{-1, {}};
  log_->append({1}, "word ", kNow, &logprobs);
  log_->commit();
  end();
  core::Accepted there = accepted(kOther);
  there.attached = true;
  there.pieces = nullptr;
  for (const bool stream : {false, true}) {
    ask("Idempotency-Key: k\r\n", stream, R"(,"logprobs":1)");
    reply(session_, told_only<core::Submit>().reply_to, there);
    EXPECT_THAT(render(session_, kNow), HasSubstr(R"("text":"word ","logprobs":null)"));
  }
  get_stream("?as=chat");
  core::Resumed answer = resumed(kOther, {});
  answer.stream.pieces = nullptr;
  reply(session_, told_only<core::Attach>().reply_to, answer);
  EXPECT_THAT(render(session_, kNow), HasSubstr(R"("content":"word "},"logprobs":null)"));
}

TEST_F(HttpResumeTest, AKeyThatIsNoneIsRefused) {
  for (const std::string& key : {std::string{}, std::string(257, 'k'), std::string{"\xC3\xA9"}}) {
    ask(fmt::format("Idempotency-Key: {}\r\n", key));
    EXPECT_THAT(render(session_, kNow),
                AllOf(HasSubstr(" 400 "), HasSubstr(R"("param":"Idempotency-Key")")));
  }
  EXPECT_TRUE(told().empty());
  ask(fmt::format("Idempotency-Key: {}\r\n", std::string(256, 'k')));
  EXPECT_EQ(told_only<core::Submit>().request.key.size(), 256U);
}

TEST_F(HttpResumeTest, AWholeAnswerNamesItsStream) {
  ask("", false);
  accept(session_);
  end();
  EXPECT_THAT(render(session_, kNow), HasSubstr("Seedance-Stream: " + to_text(stream_) + "\r\n"));
}

TEST_F(HttpResumeTest, TheEndOfADrainCutsABodyInTheMiddle) {
  ask();
  accept(session_);
  grow();
  session_.on_farewell(Session::Farewell::restart, kNow);
  const std::string got = render(session_, kNow);
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, Not(testing::EndsWith("\r\n0\r\n\r\n")));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
  EXPECT_TRUE(told().empty());
}

TEST_F(HttpResumeTest, TheEndOfADrainRefusesAnAnswerThatHasNotBegun) {
  ask("", false);
  accept(session_);
  grow();
  session_.on_farewell(Session::Farewell::restart, kNow);
  const std::string got = render(session_, kNow);
  EXPECT_THAT(got, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(got, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(got, HasSubstr("Seedance-Stream: " + to_text(stream_) + "\r\n"));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpResumeTest, AReaderThatStallsIsGone) {
  ask();
  accept(session_);
  session_.on_farewell(Session::Farewell::stalled, kNow);
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
  EXPECT_EQ(session_.ending(), Session::Ending::drop);
}

}  // namespace
}  // namespace seedance::server
