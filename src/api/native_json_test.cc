#include "api/native_json.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "api/view_fixture.h"

namespace seedance::api {
namespace {

TEST(NativeMessages, AcceptedHasAllThatTheClientNeeds) {
  std::string out;
  append_accepted(out, "me", 5, TestStream{}.accepted());
  EXPECT_EQ(only_payload(out), R"({"type":"ACCEPTED","id":"me","stream":")" + to_text(kStream) +
                                   R"(","epoch":1,"channel":5,"attached":false,"model":"tiny@1",)"
                                   R"("prompt_tokens":7,"queue":3,"expires_at":1700000600000})");
}

TEST(NativeMessages, AcceptedSaysThatTheStreamWasThere) {
  core::Accepted accepted = TestStream{}.accepted();
  accepted.attached = true;
  std::string out;
  append_accepted(out, "me", 5, accepted);
  EXPECT_EQ(boost::json::parse(only_payload(out)).at("attached"), true);
}

TEST(NativeMessages, TellWhatWasLeftOutOfThePrompt) {
  const TestStream stream;
  core::Accepted accepted = stream.accepted();
  accepted.dropped = {.messages = 2, .tokens = 30};
  core::Resumed resumed = stream.resumed({0});
  resumed.stream.dropped = accepted.dropped;
  std::string out;
  append_accepted(out, "me", 5, accepted);
  EXPECT_EQ(boost::json::parse(only_payload(out)).at("dropped"),
            boost::json::parse(R"({"messages":2,"tokens":30})"));
  out.clear();
  append_resumed(out, "me", 5, resumed);
  EXPECT_EQ(boost::json::parse(only_payload(out)).at("dropped"),
            boost::json::parse(R"({"messages":2,"tokens":30})"));
}

TEST(NativeMessages, ResumedSaysWhereItIs) {
  TestStream stream;
  for (int i = 0; i < 9; ++i) stream.add("x");
  std::string out;
  append_resumed(out, "me", 5, stream.resumed({4}));
  EXPECT_EQ(only_payload(out),
            R"({"type":"RESUMED","id":"me","stream":")" + to_text(kStream) +
                R"(","epoch":1,"channel":5,"from":4,"head":9,"state":"decode",)"
                R"("model":"tiny@1","prompt_tokens":7,"expires_at":1700000600000})");
}

TEST(NativeMessages, ResumedNamesEveryState) {
  const std::vector<std::pair<core::StreamState, std::string_view>> names{
      {core::StreamState::queued, "queued"},
      {core::StreamState::prefill, "prefill"},
      {core::StreamState::decode, "decode"},
      {core::StreamState::recovering, "recovering"},
      {core::StreamState::done, "done"}};
  for (const auto& [state, name] : names) {
    core::Resumed resumed = TestStream{}.resumed({});
    resumed.state = state;
    std::string out;
    append_resumed_json(out, {}, resumed);
    const auto message = boost::json::parse(out);
    EXPECT_EQ(as_string(message.at("state")), name);
    EXPECT_FALSE(message.as_object().contains("id"));
    EXPECT_FALSE(message.as_object().contains("channel"));
  }
}

TEST(NativeMessages, GoawaySaysHowLong) {
  std::string out;
  append_goaway(out, "drain", std::chrono::milliseconds{5'000});
  EXPECT_EQ(only_payload(out), R"({"type":"GOAWAY","reason":"drain","reconnect_within_ms":5000})");
}

TEST(NativeMessages, ErrorHasTheNumbersThatExplainIt) {
  std::string out;
  append_error(out, "", std::nullopt, {.code = ErrorCode::protocol_error, .message = "Bad."});
  EXPECT_EQ(only_payload(out),
            R"({"type":"ERROR","code":"protocol_error","message":"Bad.","retryable":false})");
  out.clear();
  append_error(out, "me", kStream,
               {.code = ErrorCode::overloaded,
                .message = "Full.",
                .param = "prompt",
                .numbers = {{"queued", 9}, {"limit", 8}},
                .retry_after_ms = 50});
  EXPECT_EQ(boost::json::parse(only_payload(out)),
            boost::json::parse(R"({"type":"ERROR","id":"me","stream":")" + to_text(kStream) +
                               R"(","code":"overloaded","message":"Full.","retryable":true,)"
                               R"("param":"prompt","retry_after_ms":50,)"
                               R"("numbers":{"queued":9,"limit":8}})"));
}

TEST(NativeMessages, PongEchoesTheTime) {
  std::string out;
  append_pong(out, {.ts = -3}, kWall);
  append_pong(out, {}, kWall);
  const auto all = frames(out);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].payload, R"({"type":"PONG","ts":-3,"server_ts":1700000000000})");
  EXPECT_EQ(all[1].payload, R"({"type":"PONG","server_ts":1700000000000})");
}

}  // namespace
}  // namespace seedance::api
