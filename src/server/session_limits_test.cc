// What a WebSocket may do, and how long it may do nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/test_session.h"

namespace seedance::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

class WsLimitsTest : public WsSessionTest {
 protected:
  WsLimitsTest() {
    context_.config.limits.idle_timeout = 20s;
    context_.config.limits.websocket.ping_after = 24h;
    context_.config.limits.websocket.dead_after = 48h;
    context_.config.limits.websocket.controls_max = 3;
  }

  void say(std::string_view text, TimePoint now, wire::Opcode opcode = wire::Opcode::text) {
    std::string bytes;
    wire::append_masked_frame(bytes, opcode, wire::Fin::yes, text, {});
    session_.on_input(std::as_writable_bytes(std::span{bytes}), now);
  }

  // What is sent when time has passed: the reason of a Close, or nothing.
  std::string close_at(TimePoint now) {
    session_.on_time(now);
    std::string reason;
    for (const auto& [opcode, payload] : frames(now)) {
      if (opcode == wire::Opcode::close) {
        const auto code = load<std::uint16_t>(as_bytes(payload).data(), std::endian::big);
        reason = fmt::format("{} {}", code, payload.substr(2));
      }
    }
    return reason;
  }

  std::uint64_t met(Limit limit) const {
    return counters_.limits_met.at(static_cast<std::size_t>(limit)).value();
  }
};

TEST_F(WsLimitsTest, WhoAsksForNothingIsClosed) {
  EXPECT_EQ(session_.deadline(), kNow + 20s);
  EXPECT_EQ(close_at(kNow + 20s - 1ns), "");
  EXPECT_EQ(close_at(kNow + 20s), "1001 idle: no stream and no message but pings for 20000 ms");
  EXPECT_EQ(met(Limit::idle), 1U);
}

TEST_F(WsLimitsTest, PingsKeepNoConnectionOpenOtherMessagesDo) {
  say(R"({"type":"PING"})", kNow + 5s);
  say("", kNow + 6s, wire::Opcode::ping);
  say("", kNow + 7s, wire::Opcode::pong);
  EXPECT_THAT(frames(kNow + 7s), SizeIs(2));
  EXPECT_EQ(session_.deadline(), kNow + 20s);
  say("nonsense", kNow + 10s);
  EXPECT_THAT(frames(kNow + 10s), SizeIs(1));
  EXPECT_EQ(session_.deadline(), kNow + 30s);
}

TEST_F(WsLimitsTest, AStreamIsNotIdleAndTheTimeBeginsAtItsEnd) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  EXPECT_EQ(close_at(kNow + 60s), "");  // It waits to be accepted.
  accept(session_);
  EXPECT_EQ(close_at(kNow + 120s), "");
  grow();
  end();
  EXPECT_THAT(frames(kNow + 180s), SizeIs(2));
  EXPECT_EQ(session_.deadline(), kNow + 200s);
  EXPECT_THAT(close_at(kNow + 200s), HasSubstr("idle"));
}

TEST_F(WsLimitsTest, ARefusalIsNotTheEndOfTheConnection) {
  send(R"({"type":"INFER_REQ","id":"a","prompt":"x"})");
  const auto submit = told_only<core::Submit>();
  ReplyBody refused = core::Refused{{.code = ErrorCode::overloaded, .message = "full"}};
  session_.on_reply(submit.reply_to.request, refused, kNow + 60s);
  EXPECT_EQ(close_at(kNow + 60s), "");
  EXPECT_EQ(session_.deadline(), kNow + 80s);
}

TEST_F(WsLimitsTest, WhoIsBehindIsNotIdle) {
  session_.on_blocked(kNow);
  EXPECT_EQ(close_at(kNow + 60s), "");
}

TEST_F(WsLimitsTest, NobodyIsIdleWithoutALimit) {
  context_.config.limits.idle_timeout = Duration::zero();
  EXPECT_EQ(close_at(kNow + 23h), "");
}

TEST_F(WsLimitsTest, PingsOfBothKindsAreCountedTogether) {
  say("", kNow, wire::Opcode::ping);
  say("", kNow, wire::Opcode::pong);
  say(R"({"type":"PING"})", kNow);
  EXPECT_EQ(close_at(kNow), "");
  say(R"({"type":"PING"})", kNow);
  EXPECT_EQ(close_at(kNow), "1008 too many pings in a second");
  EXPECT_EQ(met(Limit::pings), 1U);
}

TEST_F(WsLimitsTest, OtherMessagesAreNoPings) {
  for (int i = 0; i < 20; ++i) say("nonsense", kNow);
  EXPECT_EQ(close_at(kNow), "");
}

// Small frames, each of which earns an error.
std::string flood(int frames) {
  std::string bytes;
  for (int i = 0; i < frames; ++i) {
    wire::append_masked_frame(bytes, wire::Opcode::text, wire::Fin::yes, "x", {});
  }
  return bytes;
}

TEST_F(WsLimitsTest, WhoDoesNotReadIsNotHeardEither) {
  context_.config.limits.pending_bytes_max = 1000;
  std::string bytes = flood(100);
  session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  EXPECT_FALSE(session_.wants_input());
  EXPECT_FALSE(session_.rests());
  Rendering out;
  session_.render(out, kPlenty, kNow);
  EXPECT_LT(out.bytes.size(), 1400U);
  EXPECT_TRUE(session_.rests());
  session_.on_end(kNow);
  EXPECT_FALSE(session_.rests());
}

TEST_F(WsLimitsTest, AFloodIsTakenInTurnsWithoutALoss) {
  std::string bytes = flood(1000);
  session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  std::size_t errors = frames().size();
  int turns = 1;
  for (; session_.end_turn(); ++turns) {
    EXPECT_FALSE(session_.wants_input());
    session_.go_on(kNow);
    errors += frames().size();
  }
  EXPECT_EQ(errors, 1000U);
  EXPECT_GE(turns, 7);
  EXPECT_TRUE(session_.wants_input());
}

// A frame of a few hundred bytes may hold work for many milliseconds.
TEST_F(WsLimitsTest, WhatAFrameInflatesToCountsForTheTurn) {
  const wire::WsDeflate deflate;
  WsSession session{context_, kConnection, api::Subprotocol::json, kNow, deflate};
  const std::string json(100'000, ' ');
  std::string plain;
  wire::append_frame_header(plain, wire::Opcode::text, wire::Fin::yes, json.size());
  plain += json;
  wire::compress_frames(plain, 0, context_.deflater, context_.deflate_options(deflate));
  const auto header = wire::decode_frame_header(as_bytes(plain), wire::Compressed::yes).header;
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    wire::append_masked_frame(bytes, wire::Opcode::text, wire::Fin::yes,
                              plain.substr(header.header_bytes), {}, wire::Compressed::yes);
  }
  session.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  EXPECT_EQ(counters_.messages_received.value(), 1U);
  EXPECT_TRUE(session.end_turn());
  session.go_on(kNow);
  EXPECT_EQ(counters_.messages_received.value(), 2U);
}

// Requests that came before their client ended its side.
TEST_F(HttpSessionTest, PipelinedRequestsThatWaitForRoomHoldUpTheEnd) {
  context_.config.limits.pending_bytes_max = 1;
  std::string requests;
  for (int i = 0; i < 3; ++i) requests += "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  send(requests);
  int answers = 0;
  for (; session_.rests(); ++answers) EXPECT_THAT(render(session_, kNow), HasSubstr(" 200 OK"));
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(render(session_, kNow), "");
}

TEST_F(WsLimitsTest, AMessageThatTakesTooLongIsCounted) {
  std::string begun = "\x81";
  session_.on_input(std::as_writable_bytes(std::span{begun}), kNow);
  context_.config.limits.idle_timeout = Duration::zero();
  EXPECT_EQ(close_at(kNow + 60s), "1008 message not finished in time");
  EXPECT_EQ(met(Limit::arrival), 1U);
}

}  // namespace
}  // namespace seedance::server
