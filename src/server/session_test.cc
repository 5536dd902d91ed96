// What the sessions do that a client can hardly see.
#include "server/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "server/http_session.h"
#include "server/test_client.h"
#include "server/ws_session.h"

namespace seedance::server {
namespace {

constexpr TimePoint kNow{std::chrono::seconds{1000}};
constexpr Duration kMerge = std::chrono::milliseconds{50};
constexpr ConnectionId kConnection{7};
constexpr std::size_t kPlenty = std::size_t{64} << 10;

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    config_.merge = kMerge;
    board_.stats = &stats_;
  }

  // What the core is told since the last call.
  std::vector<core::Message> told() {
    std::vector<core::Message> messages;
    inbox_.take(messages);
    return messages;
  }

  // Answers the request that the session has sent to the core.
  void accept(Session& session) {
    const auto messages = told();
    ASSERT_EQ(messages.size(), 1U);
    const auto& submit = std::get<core::Submit>(messages.front());
    stream_ = submit.stream;
    ReplyBody body = core::Accepted{.stream = submit.stream,
                                    .epoch = {1},
                                    .log = log_,
                                    .pieces = std::make_shared<text::PieceTable>(),
                                    .model = "tale@1",
                                    .prompt_tokens = 1,
                                    .queue = 0,
                                    .created = {}};
    session.on_reply(submit.reply_to.request, body, kNow);
    EXPECT_EQ(context_.readers.at(submit.stream), kConnection);
  }

  void grow() {
    log_->append({1}, "word ", kNow, nullptr);
    log_->commit();
  }

  std::string render(Session& session, TimePoint now) {
    Rendering out;
    session.render(out, kPlenty, now);
    session.on_sent(now);
    return out.bytes;
  }

  ServerConfig config_ = scripted_config("");
  Access access_{.keys = auth::KeyRing{{}},
                 .hosts = auth::HostRules{"127.0.0.1", {}},
                 .origins = auth::OriginRules{{}}};
  core::Stats stats_;
  Board board_;
  Counters counters_;
  io::Mailbox<core::Message> inbox_{std::move(*io::Wakeup::open()), 2};
  EdgeContext context_{.config = config_,
                       .access = access_,
                       .board = board_,
                       .counters = counters_,
                       .core = inbox_,
                       .edge = {0}};
  std::shared_ptr<stream::TokenLog> log_ = std::make_shared<stream::TokenLog>(false);
  StreamId stream_;
};

class WsSessionTest : public SessionTest {
 protected:
  void send(std::string_view json) {
    std::string bytes;
    wire::append_masked_frame(bytes, wire::Opcode::text, wire::Fin::yes, json, {});
    session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  }

  WsSession session_{context_, kConnection, api::Subprotocol::json, kNow};
};

class HttpSessionTest : public SessionTest {
 protected:
  void send(std::string bytes) {
    session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  }
  void ask() {
    const std::string body = R"({"prompt":"x","stream":true})";
    send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  HttpSession session_{context_, kConnection, kNow};
};

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

TEST_F(WsSessionTest, ABlockedStreamHasNoTimeToBeRendered) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  grow();
  session_.on_blocked(kNow);
  EXPECT_GT(session_.deadline(), kNow + kMerge);
  session_.on_unblocked(kNow);
  EXPECT_LE(session_.deadline(), kNow);
}

TEST_F(WsSessionTest, WhoGoesGivesItsStreamsUp) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  accept(session_);
  session_.on_gone();
  const auto messages = told();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(std::get<core::ReaderGone>(messages.front()).stream, stream_);
  EXPECT_TRUE(context_.readers.empty());
}

TEST_F(WsSessionTest, RequestsTheCoreHasNoRoomForAreRefused) {
  for (const auto* id : {"a", "b", "c"}) {
    send(std::string{R"({"type":"INFER_REQ","prompt":"x","id":")"} + id + "\"}");
  }
  const std::string answer = render(session_, kNow);
  EXPECT_THAT(answer, testing::HasSubstr(R"("id":"c","code":"overloaded")"));
  EXPECT_EQ(told().size(), 2U);
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
  EXPECT_EQ(std::get<core::ReaderGone>(messages.front()).stream,
            std::get<core::Submit>(submitted.front()).stream);
  EXPECT_EQ(session_.ending(), Session::Ending::drop);
  session_.on_gone();
  EXPECT_TRUE(told().empty());
}

TEST_F(HttpSessionTest, ADrainEndsItBehindTheAnswerThatRuns) {
  ask();
  accept(session_);
  session_.on_drain(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  log_->append_terminal({.reason = stream::FinishReason::stop});
  log_->commit();
  EXPECT_THAT(render(session_, kNow), testing::HasSubstr("[DONE]"));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpSessionTest, ADrainEndsItBetweenRequestsButNotBeforeTheFirst) {
  session_.on_drain(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  ask();
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  accept(session_);
  log_->append_terminal({.reason = stream::FinishReason::stop});
  log_->commit();
  render(session_, kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(HttpSessionTest, ADrainEndsAConnectionThatWaitsForItsNextRequest) {
  ask();
  accept(session_);
  log_->append_terminal({.reason = stream::FinishReason::stop});
  log_->commit();
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

}  // namespace
}  // namespace seedance::server
