#include "load/native_connection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/bytes.h"
#include "wire/fm.h"
#include "wire/ws_frame.h"
#include "wire/ws_handshake.h"

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TimePoint kNow{1000s};
const NativeTarget kJson{.host = "h:1", .path = "/ws/inference", .api_key = "sesame"};
const NativeTarget kBinary{.host = "h:1", .path = "/ws/inference", .binary = true};

std::vector<Event> feed(NativeConnection& connection, std::string bytes) {
  std::vector<Event> events;
  connection.on_input(std::as_writable_bytes(std::span{bytes}), kNow, events);
  return events;
}

std::string frame(std::string_view payload, wire::Opcode opcode = wire::Opcode::text) {
  std::string out;
  wire::append_frame_header(out, opcode, wire::Fin::yes, payload.size());
  return out.append(payload);
}

// What a server would read, frame by frame.
std::vector<std::string> sent(NativeConnection& connection) {
  std::vector<std::string> messages;
  std::string bytes{connection.output()};
  connection.output_sent(bytes.size());
  while (!bytes.empty()) {
    const auto decoded = wire::decode_frame_header(as_bytes(bytes));
    EXPECT_EQ(decoded.status, wire::FrameStatus::whole);
    EXPECT_TRUE(decoded.header.mask);
    std::string payload = bytes.substr(decoded.header.header_bytes, decoded.header.payload_bytes);
    wire::apply_mask(std::as_writable_bytes(std::span{payload}), *decoded.header.mask, 0);
    messages.push_back(payload);
    bytes.erase(0, decoded.header.header_bytes + decoded.header.payload_bytes);
  }
  return messages;
}

std::string upgrade(const NativeTarget& target) {
  std::string out;
  wire::append_upgrade_response(
      out, {.accept = wire::accept_key(wire::make_key({})),
            .protocol = target.binary ? "seedance.v2+binary" : "seedance.v2+json"});
  return out;
}

// Open, its handshake sent and answered.
std::unique_ptr<NativeConnection> opened(const NativeTarget& target) {
  auto connection =
      std::make_unique<NativeConnection>(target, NativeConnection::Secrets{.masks = 1});
  connection->output_sent(connection->output().size());
  EXPECT_THAT(feed(*connection, upgrade(target)), IsEmpty());
  EXPECT_TRUE(connection->open());
  return connection;
}

TEST(NativeConnection, BeginsWithAHandshakeAndKeepsRequestsUntilItIsOver) {
  NativeConnection connection{kJson, {.masks = 1}};
  EXPECT_FALSE(connection.open());
  EXPECT_TRUE(connection.usable());
  connection.ask(7, R"("prompt":"a")");
  const std::string head{connection.output()};
  EXPECT_THAT(head, HasSubstr("GET /ws/inference HTTP/1.1\r\nHost: h:1\r\n"));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Protocol: seedance.v2+json\r\n"));
  EXPECT_THAT(head, HasSubstr("Authorization: Bearer sesame\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  connection.output_sent(head.size());
  const std::string answer = upgrade(kJson);
  EXPECT_THAT(feed(connection, answer.substr(0, 30)), IsEmpty());
  EXPECT_THAT(feed(connection, answer.substr(30)), IsEmpty());
  EXPECT_THAT(sent(connection), ElementsAre(R"({"type":"INFER_REQ","id":"7","prompt":"a"})"));
}

TEST(NativeConnection, FailsWithItsHandshake) {
  NativeConnection refused{kJson, {}};
  const auto events = feed(refused, "HTTP/1.1 401 Unauthorized\r\n\r\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Lost>(events[0]).code, kHandshakeFailed);
  EXPECT_THAT(std::get<Lost>(events[0]).message, HasSubstr("401 Unauthorized"));
  EXPECT_FALSE(refused.usable());
  NativeConnection closed{kJson, {}};
  std::vector<Event> ending;
  closed.on_end(ending);
  closed.on_end(ending);
  ASSERT_EQ(ending.size(), 1U);
  EXPECT_EQ(std::get<Lost>(ending[0]).code, kHandshakeFailed);
}

TEST(NativeConnection, TellsStreamsApart) {
  const auto connection = opened(kJson);
  const std::string bytes =
      frame(R"({"type":"ACCEPTED","id":"1","stream":"st_x","channel":1})") +
      frame(R"({"type":"INFER_CHUNK","id":"1","seq":0,"n":2,"text":"Hi"})") +
      frame(R"({"type":"INFER_CHUNK","id":"2","seq":0,"n":1,"text":""})") +
      frame(R"({"type":"INFER_DONE","id":"1","seq":2,"finish_reason":"stop",)"
            R"("usage":{"prompt_tokens":5},"timing":{"queue_ms":1,"prefill_ms":2.5}})");
  const Answer answer{.tokens = 2, .prompt_tokens = 5, .queue = 1ms, .prefill = 2500us};
  EXPECT_THAT(
      feed(*connection, bytes),
      ElementsAre(Event{Tokens{1, 2, true}}, Event{Tokens{2, 1, false}}, Event{Done{1, answer}}));
}

TEST(NativeConnection, ReadsBinaryFramesByTheirChannel) {
  const auto connection = opened(kBinary);
  feed(*connection, frame(R"({"type":"ACCEPTED","id":"9","channel":5})"));
  std::string chunk;
  wire::append_fm(chunk, {.channel = 5, .tokens = 3, .text = "Hi"});
  std::string last;
  wire::append_fm(last, {.channel = 5, .seq = 3, .marks = {.final = true, .usage = true}});
  std::string other;
  wire::append_fm(other, {.channel = 6, .tokens = 1, .text = "x"});
  const auto binary = wire::Opcode::binary;
  EXPECT_THAT(feed(*connection, frame(chunk, binary) + frame(other, binary) + frame(last, binary) +
                                    frame(R"({"type":"INFER_DONE","id":"9","seq":3,)"
                                          R"("finish_reason":"length"})")),
              ElementsAre(Event{Tokens{9, 3, true}}, Event{Done{9, {.tokens = 3}}}));
  const auto broken = feed(*connection, frame("FM", binary));
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(std::get<Lost>(broken[0]).code, kMalformed);
}

TEST(NativeConnection, TellsFailuresByTheirCode) {
  const auto connection = opened(kJson);
  EXPECT_THAT(
      feed(*connection, frame(R"({"type":"ERROR","id":"1","code":"overloaded","message":"m"})") +
                            frame(R"({"type":"INFER_DONE","id":"2","finish_reason":"error",)"
                                  R"("error":{"code":"engine_failed","message":"n"}})") +
                            frame(R"({"type":"INFER_DONE","id":"3","finish_reason":"cancelled"})") +
                            frame(R"({"type":"INFER_DONE","id":"4"})")),
      ElementsAre(Event{Failed{1, "overloaded", "m"}}, Event{Failed{2, "engine_failed", "n"}},
                  Event{Failed{3, "cancelled", "cancelled"}},
                  Event{Failed{4, std::string{kMalformed}, ""}}));
  EXPECT_TRUE(connection->usable());
}

TEST(NativeConnection, TakesNoMoreRequestsOfAServerThatGoes) {
  const auto connection = opened(kJson);
  EXPECT_THAT(feed(*connection, frame(R"({"type":"GOAWAY","reason":"drain"})")), IsEmpty());
  EXPECT_FALSE(connection->usable());
  const std::string close = "\x03\xF4";  // 1012
  const auto events = feed(*connection, frame(close, wire::Opcode::close));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Lost>(events[0]).code, "closed_1012");
}

TEST(NativeConnection, IsLostOnce) {
  const auto connection = opened(kJson);
  std::vector<Event> events;
  connection->on_end(events);
  connection->on_end(events);
  connection->on_time(kNow + 1h, events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Lost>(events[0]).code, kConnectionLost);
  EXPECT_FALSE(connection->cancel(1));
  const auto other = opened(kJson);
  EXPECT_THAT(feed(*other, frame("[]") + frame(R"({"type":"ERROR","id":"1"})")),
              testing::SizeIs(1));
}

TEST(NativeConnection, CancelsAndAnswersPings) {
  const auto connection = opened(kJson);
  EXPECT_TRUE(connection->cancel(4));
  feed(*connection, frame("are you there?", wire::Opcode::ping));
  EXPECT_THAT(sent(*connection), ElementsAre(R"({"type":"CANCEL","id":"4"})", "are you there?"));
}

// A server that is gone without a word is noticed.
TEST(NativeConnection, PingsAndGivesUp) {
  const auto connection = opened(kJson);
  std::vector<Event> events;
  connection->on_time(kNow + 16s, events);
  EXPECT_THAT(sent(*connection), testing::SizeIs(1));
  EXPECT_THAT(events, IsEmpty());
  connection->on_time(kNow + 60s, events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Lost>(events[0]).code, kConnectionLost);
}

}  // namespace
}  // namespace seedance::loadgen
