#include "load/sse_connection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/bytes.h"

namespace seedance::loadgen {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::VariantWith;

const HttpTarget kTarget{.host = "h:1", .path = "/v1/completions", .api_key = "sesame"};

std::vector<Event> feed(SseConnection& connection, std::string bytes, std::size_t piece_bytes) {
  std::vector<Event> events;
  const auto all = std::as_writable_bytes(std::span{bytes});
  for (std::size_t at = 0; at < all.size(); at += piece_bytes) {
    connection.on_input(all.subspan(at, std::min(piece_bytes, all.size() - at)), TimePoint{},
                        events);
  }
  return events;
}

std::vector<Event> feed(SseConnection& connection, std::string bytes) {
  const std::size_t size = bytes.size();
  return feed(connection, std::move(bytes), size);
}

std::vector<Event> ended(SseConnection& connection) {
  std::vector<Event> events;
  connection.on_end(events);
  return events;
}

std::string chunked(std::string_view body, std::string_view headers = "") {
  return fmt::format(
      "HTTP/1.1 200 OK\r\n{}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n", headers,
      body.size(), body);
}

constexpr std::string_view kAnswer =
    "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":null}]}\n\n"
    ": keepalive\n\n"
    "data: {\"choices\":[{\"text\":\"Hi\"}]}\n\n"
    "data: {\"choices\":[{\"text\":\"!\",\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3}}\n\n"
    "data: [DONE]\n\n";

TEST(SseConnection, AsksAsHttpWantsIt) {
  SseConnection connection{kTarget};
  EXPECT_TRUE(connection.usable());
  connection.ask(7, R"("prompt":"a")");
  EXPECT_FALSE(connection.usable());
  EXPECT_THAT(std::string{connection.output()},
              testing::AllOf(StartsWith("POST /v1/completions HTTP/1.1\r\nHost: h:1\r\n"),
                             HasSubstr("\r\nContent-Length: 14\r\n"),
                             HasSubstr("\r\nAuthorization: Bearer sesame\r\n"),
                             EndsWith("\r\n\r\n{\"prompt\":\"a\"}")));
  connection.output_sent(connection.output().size());
  EXPECT_EQ(connection.output(), "");
}

TEST(SseConnection, ReadsAnAnswerHoweverItIsCutAndTheNextOne) {
  const std::string bytes = chunked(kAnswer);
  const Answer answer{.tokens = 3, .prompt_tokens = 4};
  SseConnection connection{kTarget};
  for (std::size_t piece = 1; piece <= bytes.size(); piece += 7) {
    connection.ask(piece, "");
    EXPECT_THAT(feed(connection, bytes, piece),
                ElementsAre(Event{Tokens{piece, 1, true}}, Event{Tokens{piece, 1, true}},
                            Event{Done{piece, answer}}));
    EXPECT_TRUE(connection.usable());
  }
}

TEST(SseConnection, ReadsChatsAndWhatTheyThink) {
  SseConnection connection{kTarget};
  connection.ask(1, "");
  const auto events =
      feed(connection,
           chunked("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
                   "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm\"}}]}\n\n"
                   "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"
                   "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"));
  EXPECT_THAT(events, ElementsAre(Event{Tokens{1, 1, true}}, Event{Tokens{1, 1, true}},
                                  Event{Done{1, {}}}));
}

TEST(SseConnection, IsOfOneUseWhereTheServerSaysSo) {
  SseConnection connection{kTarget};
  connection.ask(1, "");
  const auto events = feed(connection, chunked(kAnswer, "Connection: close\r\n"));
  EXPECT_THAT(events.back(), VariantWith<Lost>(testing::_));
  EXPECT_FALSE(connection.usable());
  EXPECT_THAT(ended(connection), IsEmpty());
}

TEST(SseConnection, TellsRefusalsByCodeOrStatus) {
  const auto refusal = [](std::string_view status, std::string_view body) {
    SseConnection connection{kTarget};
    connection.ask(1, "");
    const auto events = feed(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}",
                                                     status, body.size(), body));
    EXPECT_TRUE(connection.usable());
    return events;
  };
  EXPECT_THAT(refusal("503 No", R"({"error":{"code":"overloaded","message":"try\n later"}})"),
              ElementsAre(Event{Failed{1, "overloaded", "try  later"}}));
  EXPECT_THAT(refusal("503 No", R"({"error":{"code":503,"message":"loading"}})"),
              ElementsAre(Event{Failed{1, "http_503", "loading"}}));
  EXPECT_THAT(refusal("404 No", "no such page"),
              ElementsAre(Event{Failed{1, "http_404", "no such page"}}));
}

TEST(SseConnection, CountsWhatIsNoAnswerAsMalformed) {
  const auto answer = [](std::string_view body) {
    SseConnection connection{kTarget};
    connection.ask(1, "");
    auto events = feed(connection, chunked(body));
    EXPECT_EQ(events.size(), 1U) << body;
    const auto* failed = std::get_if<Failed>(&events.at(0));
    return failed != nullptr ? failed->code : "";
  };
  EXPECT_EQ(answer("data: {\"choices\":\n\n"), kMalformed);
  EXPECT_EQ(answer("data: 7\n\n"), kMalformed);
  EXPECT_EQ(answer(R"({"choices":[{"text":"whole"}]})"), kMalformed);
  EXPECT_EQ(answer("data: {\"error\":{\"code\":\"engine_failed\"}}\n\n"), "engine_failed");
  EXPECT_EQ(answer("data: {\"error\":{}}\n\n"), "error_in_stream");
  EXPECT_EQ(answer("data: [DONE]\n\n"), kEmptyAnswer);
  EXPECT_EQ(answer("data: {\"choices\":[{\"text\":\"\"}]}\n\ndata: [DONE]\n\n"), kEmptyAnswer);
}

TEST(SseConnection, IsLostWhereTheAnswerIsNoHttp) {
  SseConnection connection{kTarget};
  connection.ask(1, "");
  const auto events = feed(connection, "SSH-2.0-x\r\n\r\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Lost>(events[0]).code, kMalformed);
  EXPECT_FALSE(connection.usable());
}

TEST(SseConnection, IsLostWhereItIsCutOff) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{20}, std::size_t{200}}) {
    SseConnection connection{kTarget};
    connection.ask(1, "");
    feed(connection, chunked(kAnswer).substr(0, bytes));
    const auto events = ended(connection);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(std::get<Lost>(events[0]).code, kConnectionLost);
    EXPECT_FALSE(std::get<Lost>(events[0]).unseen);
  }
}

// The server gave up a kept connection just when the next request was sent.
TEST(SseConnection, KnowsARequestThatNobodyHasSeen) {
  SseConnection connection{kTarget};
  connection.ask(1, "");
  feed(connection, chunked(kAnswer));
  connection.ask(2, "");
  const auto events = ended(connection);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::get<Lost>(events[0]).unseen);
}

TEST(SseConnection, EndsWithItsConnectionWhereThatIsTheLength) {
  SseConnection connection{kTarget};
  connection.ask(1, "");
  EXPECT_THAT(feed(connection,
                   "HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"text\":\"Hi\","
                   "\"finish_reason\":\"length\"}]}\n\n"),
              ElementsAre(Event{Tokens{1, 1, true}}));
  EXPECT_THAT(ended(connection), ElementsAre(Event{Done{1, {}}}, VariantWith<Lost>(testing::_)));
}

TEST(SseConnection, IsLostWhereTheServerSpeaksUnasked) {
  SseConnection connection{kTarget};
  EXPECT_THAT(feed(connection, "HTTP/1.1 408 Late\r\n\r\n"),
              ElementsAre(VariantWith<Lost>(testing::_)));
  SseConnection other{kTarget};
  other.ask(1, "");
  EXPECT_THAT(feed(other, chunked(kAnswer) + "HTTP/1.1 200 OK\r\n").back(),
              VariantWith<Lost>(testing::_));
  EXPECT_FALSE(other.usable());
}

}  // namespace
}  // namespace seedance::loadgen
