// What the sessions do that a client can hardly see.
#include "server/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/clock.h"
#include "server/test_session.h"
#include "wire/deflate.h"

namespace seedance::server {
namespace {

TEST_F(WsSessionTest, AMergedStreamIsRenderedAtItsTime) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  grow();
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("INFER_CHUNK"));
  grow();
  EXPECT_EQ(render(session_, kNow), "");
  EXPECT_EQ(session_.deadline(), kNow + kMerge);
  EXPECT_THAT(render(session_, kNow + kMerge), testing::HasSubstr("INFER_CHUNK"));
}

TEST_F(WsSessionTest, AMergedStreamIsRenderedSoonerWhenItHasSoManyBytes) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x","merge_ms":50,"merge_bytes":10})");
  accept(session_);
  grow();
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("INFER_CHUNK"));
  grow();
  EXPECT_EQ(render(session_, kNow), "");
  grow();  // Ten bytes.
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr(R"("seq":1,"n":2,"text":"word word ")"));
  grow();
  EXPECT_EQ(render(session_, kNow + kMerge - Duration{1}), "") << "its time begins anew";
  EXPECT_THAT(render(session_, kNow + kMerge), testing::HasSubstr(R"("seq":3,"n":1)"));
}

TEST_F(WsSessionTest, ABlockedStreamHasNoTimeToBeRendered) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  grow();
  session_.on_blocked(kNow);
  EXPECT_GT(session_.deadline(), kNow + kMerge);
  session_.on_unblocked(kNow);
  EXPECT_LE(session_.deadline(), kNow);
}

TEST_F(WsSessionTest, HowLongItIsBlockedIsForItsConnectionToJudge) {
  session_.on_blocked(kNow);
  EXPECT_EQ(session_.deadline(), kNever);
  session_.on_time(kNow + std::chrono::hours{24});
  EXPECT_EQ(session_.ending(), Session::Ending::open);
}

TEST_F(WsSessionTest, WhoGoesGivesItsStreamsUp) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  session_.on_gone();
  const auto messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(std::get<core::ReaderGone>(messages.front()).reader, reader_);
}

class WsTokenTest : public WsSessionTest {
 protected:
  static constexpr Duration kHolds = std::chrono::seconds{10};

  WsTokenTest() {
    const auth::TokenRules rules{.key = *auth::secret_key(std::string(32, 's'))};
    context_.access.gate = std::make_shared<const auth::Gate>(auth::GateRules{.tokens = rules});
  }

  WsSession come_in() {
    return WsSession{context_,
                     kConnection,
                     api::Subprotocol::json,
                     kNow,
                     {},
                     {.principal = {.tenant = "acme",
                                    .role = auth::Role::user,
                                    .proof = auth::Proof::token,
                                    .until = io::wall_now() + kHolds}}};
  }
};

TEST_F(WsTokenTest, EndsItsConnectionWhenItExpiresAndNoStream) {
  WsSession session = come_in();
  EXPECT_LE(session.deadline(), kNow + kHolds);
  session.on_time(kNow);
  EXPECT_EQ(render(session, kNow), "");
  std::string bytes;
  wire::append_masked_frame(bytes, wire::Opcode::text, wire::Fin::yes,
                            R"({"type":"INFER_REQ","id":"a","prompt":"x"})", {});
  session.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  accept(session);
  session.on_time(kNow + kHolds);
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_) << "it is not cancelled";
  const std::string close = render(session, kNow + kHolds);
  EXPECT_THAT(close, testing::StartsWith("\x88"));
  EXPECT_THAT(close, testing::HasSubstr("\x03\xf0your token has expired"));
  EXPECT_GT(session.deadline(), kNow + kHolds) << "once";
  session.on_time(kNow + kHolds);
  EXPECT_EQ(render(session, kNow + kHolds), "");
}

TEST_F(WsTokenTest, EndsItsConnectionWhenTheRulesChange) {
  WsSession session = come_in();
  EXPECT_TRUE(session.on_access(kNow)) << "it has another mark";
  EXPECT_THAT(render(session, kNow), testing::HasSubstr("\x03\xf0you may not"));
  context_.access.gate = std::make_shared<const auth::Gate>();
  EXPECT_FALSE(session_.on_access(kNow));
  EXPECT_EQ(render(session_, kNow), "");
}

TEST_F(WsSessionTest, RequestsTheCoreHasNoRoomForAreRefused) {
  for (const auto* id : {"a", "b", "c"}) {
    send(std::string{R"({"type":"INFER_REQ","prompt":"x","id":")"} + id + "\"}");
  }
  const std::string answer = render(session_, kNow);
  EXPECT_THAT(answer, testing::HasSubstr(R"("id":"c","code":"overloaded")"));
  EXPECT_EQ(told().size(), 2U);
}

// Whoever came in without a key, when now one is asked for.
class HttpAccessTest : public HttpSessionTest {
 protected:
  void close_gate() {
    context_.access.gate = std::make_shared<const auth::Gate>(auth::GateRules{.plain_keys = {"k"}});
  }
};

TEST_F(HttpAccessTest, AnAnswerEndsWhenItsReaderMayNotComeInAnyMore) {
  ask();
  accept(session_);
  grow();
  EXPECT_FALSE(session_.on_access(kNow));
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("word "));
  close_gate();
  EXPECT_TRUE(session_.on_access(kNow));
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_) << "it is not cancelled";
  grow();
  const std::string last = render(session_, kNow);
  EXPECT_THAT(last, testing::HasSubstr(R"("code":"unauthenticated")"));
  EXPECT_THAT(last, testing::Not(testing::HasSubstr("word ")));
  EXPECT_THAT(last, testing::EndsWith("\r\n0\r\n\r\n"));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
  EXPECT_FALSE(session_.on_access(kNow)) << "once";
}

TEST_F(HttpAccessTest, WhoeverWaitsForAWholeAnswerIsRefused) {
  ask("", false);
  accept(session_);
  close_gate();
  EXPECT_TRUE(session_.on_access(kNow));
  EXPECT_EQ(told_only<core::ReaderGone>().reader, reader_);
  EXPECT_THAT(render(session_, kNow), testing::StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpAccessTest, WhoeverSendsABodyIsRefused) {
  send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
      "14\r\n\r\n{\"prompt\":\"x\"");
  EXPECT_FALSE(session_.on_access(kNow));
  close_gate();
  EXPECT_TRUE(session_.on_access(kNow));
  send("}");
  EXPECT_TRUE(told().empty());
  EXPECT_THAT(render(session_, kNow), testing::StartsWith("HTTP/1.1 401 "));
}

TEST_F(HttpSessionTest, AMergedStreamIsRenderedAtItsTime) {
  ask();
  accept(session_);
  grow();
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("word"));
  grow();
  EXPECT_EQ(render(session_, kNow), "");
  EXPECT_EQ(session_.deadline(), kNow + kMerge);
  EXPECT_THAT(render(session_, kNow + kMerge), testing::HasSubstr("word"));
}

TEST_F(HttpSessionTest, ABlockedStreamHasNoTimeToBeRendered) {
  ask();
  accept(session_);
  grow();
  session_.on_blocked(kNow);
  EXPECT_GT(session_.deadline(), kNow + kMerge);
}

TEST_F(HttpSessionTest, WhoGoesBeforeTheAnswerGivesItUp) {
  ask();
  const auto submitted = told();
  ASSERT_EQ(submitted.size(), 1U);
  session_.on_end(kNow);
  const auto messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(std::get<core::ReaderGone>(messages.front()).reader,
            std::get<core::Submit>(submitted.front()).reply_to);
  EXPECT_EQ(session_.ending(), Session::Ending::drop);
  session_.on_gone();
  EXPECT_TRUE(told().empty());
}

TEST_F(HttpSessionTest, ADrainEndsItBehindTheAnswerThatRuns) {
  ask();
  accept(session_);
  session_.on_drain(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  end();
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("[DONE]"));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpSessionTest, ADrainEndsItBetweenRequestsButNotBeforeTheFirst) {
  session_.on_drain(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  ask();
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  accept(session_);
  end();
  render(session_, kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpSessionTest, ADrainEndsAConnectionThatWaitsForItsNextRequest) {
  ask();
  accept(session_);
  end();
  render(session_, kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  session_.on_drain(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpSessionTest, RequestsTheCoreHasNoRoomForAreRefused) {
  inbox_.post(core::ReaderGone{});
  inbox_.post(core::ReaderGone{});
  ask();
  const std::string answer = render(session_, kNow);
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, testing::HasSubstr("Retry-After: 1\r\n"));
}

// Not the core, which may be busy, nor an engine.
TEST_F(HttpSessionTest, ProbesAskNobody) {
  for (const auto* path : {"/healthz", "/readyz", "/health/plugins/ws-inference"}) {
    request("GET", path);
    EXPECT_THAT(render(session_, kNow), testing::StartsWith("HTTP/1.1 ")) << path;
  }
  EXPECT_TRUE(told().empty());
}

// What the socket did not take is rendered again, and can be read without it.
TEST_F(WsSessionTest, CompressedChunksCanBeTakenBack) {
  WsSession session{context_, kConnection, api::Subprotocol::json, kNow, wire::WsDeflate{}};
  std::string request;
  wire::append_masked_frame(request, wire::Opcode::text, wire::Fin::yes,
                            R"({"type":"INFER_REQ","id":"a","prompt":"x"})", {});
  session.on_input(std::as_writable_bytes(std::span{request}), kNow);
  accept(session);
  const auto chunk_in = [this](const Rendering& out) {
    const Rendering::Frame& frame = out.frames.at(0);
    const Bytes bytes = as_bytes(out.bytes).subspan(frame.begin, frame.end - frame.begin);
    const auto header = wire::decode_frame_header(bytes, wire::Compressed::yes).header;
    EXPECT_EQ(header.compressed, wire::Compressed::yes);
    EXPECT_EQ(header.header_bytes + header.payload_bytes, bytes.size());
    std::string text;
    EXPECT_EQ(context_.inflater.inflate(bytes.subspan(header.header_bytes), kPlenty, text),
              wire::Inflater::Status::whole);
    return text;
  };
  grow(500);
  Rendering first;
  session.render(first, kPlenty, kNow);
  EXPECT_LT(first.bytes.size(), 1000U);
  EXPECT_THAT(chunk_in(first), testing::HasSubstr(R"("seq":0,"n":500,)"));
  session.take_back(first.frames.at(0));
  session.on_sent(kNow);
  grow(100);
  Rendering second;
  session.render(second, kPlenty, kNow + kMerge);
  EXPECT_THAT(chunk_in(second), testing::HasSubstr(R"("seq":0,"n":600,)"));
}

}  // namespace
}  // namespace seedance::server
