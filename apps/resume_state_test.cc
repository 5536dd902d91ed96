#include "apps/resume_state.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>

namespace seedance::apps {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr TimePoint kStart{};

json::object object(std::string_view text) {
  return json::parse(text).as_object();
}

json::object request() {
  return object(R"({"type":"INFER_REQ","id":"chat-1","key":"k","prompt":"Hi"})");
}

// Asked once, and `tokens` of the answer came.
ResumeState answering(std::int64_t tokens) {
  ResumeState state{request()};
  state.opening();
  state.on_message(object(R"({"type":"ACCEPTED","id":"chat-1","stream":"st_a","epoch":3})"));
  json::object chunk = object(R"({"type":"INFER_CHUNK","id":"chat-1","seq":0,"text":"Hello"})");
  chunk["n"] = tokens;
  if (tokens > 0) state.on_message(chunk);
  return state;
}

TEST(ResumeState, RepeatsTheRequestUntilItIsKnownToHaveArrived) {
  ResumeState state{request()};
  EXPECT_EQ(json::parse(state.opening()), request());
  EXPECT_EQ(json::parse(state.opening()), request());
  EXPECT_EQ(state.resumes(), 1U);
}

TEST(ResumeState, ResumesAtTheNextToken) {
  ResumeState state = answering(2);
  EXPECT_EQ(json::parse(state.opening()),
            object(R"({"type":"RESUME","id":"chat-1","stream":"st_a","seq":2,"epoch":3})"));
  const auto news =
      state.on_message(object(R"({"type":"INFER_CHUNK","id":"chat-1","seq":2,"n":1,"text":"!"})"));
  EXPECT_EQ(news, (ResumeState::News{ResumeState::Tokens{1, "!"}}));
  EXPECT_EQ(state.resumes(), 1U);
}

TEST(ResumeState, ResumesAtTheFirstTokenWhenNoneCame) {
  ResumeState state = answering(0);
  EXPECT_EQ(json::parse(state.opening()),
            object(R"({"type":"RESUME","id":"chat-1","stream":"st_a","seq":0,"epoch":3})"));
}

TEST(ResumeState, TakesNoTokenTwiceAndMissesNone) {
  for (const int seq : {1, 3}) {
    ResumeState state = answering(2);
    json::object chunk = object(R"({"type":"INFER_CHUNK","id":"chat-1","n":1,"text":"x"})");
    chunk["seq"] = seq;
    const auto news = state.on_message(chunk);
    ASSERT_TRUE(std::holds_alternative<ResumeState::End>(news)) << seq;
    EXPECT_NE(std::get<ResumeState::End>(news).problem, "");
  }
}

TEST(ResumeState, EndsWithTheStream) {
  ResumeState state = answering(2);
  EXPECT_EQ(state.on_message(
                object(R"({"type":"INFER_DONE","id":"chat-1","seq":2,"finish_reason":"stop"})")),
            (ResumeState::News{ResumeState::End{"stop", ""}}));
  EXPECT_EQ(state.on_message(object(R"({"type":"INFER_DONE","id":"chat-1","seq":2,
      "finish_reason":"error","error":{"code":"engine_failed","message":"it died"}})")),
            (ResumeState::News{ResumeState::End{"error", "engine_failed: it died"}}));
}

TEST(ResumeState, TellsOfAnEndThatCameTooSoon) {
  ResumeState state = answering(2);
  const auto news = state.on_message(
      object(R"({"type":"INFER_DONE","id":"chat-1","seq":5,"finish_reason":"stop"})"));
  EXPECT_EQ(news,
            (ResumeState::News{ResumeState::End{"", "the answer ends at token 5, but 2 came"}}));
}

TEST(ResumeState, IgnoresMessagesOfOtherAnswers) {
  ResumeState state = answering(2);
  EXPECT_EQ(
      state.on_message(object(R"({"type":"INFER_CHUNK","id":"chat-0","seq":9,"n":1,"text":"x"})")),
      ResumeState::News{});
  EXPECT_EQ(state.on_message(object(R"({"type":"GOAWAY","reason":"drain"})")), ResumeState::News{});
}

TEST(ResumeState, TellsWhyAnAnswerCannotGoOn) {
  for (const char* code : {"epoch_mismatch", "stream_expired", "stream_not_found"}) {
    ResumeState state = answering(2);
    state.opening();
    json::object error =
        object(R"({"type":"ERROR","id":"chat-1","message":"m","retryable":false})");
    error["code"] = code;
    EXPECT_EQ(state.on_message(error),
              (ResumeState::News{
                  ResumeState::End{"", std::string{"the answer cannot go on: "} + code + ": m"}}));
  }
}

TEST(ResumeState, WaitsForAServerThatStartsAgainButNotForTheFirst) {
  const json::object loading = object(
      R"({"type":"ERROR","id":"chat-1","code":"model_loading","message":"m","retryable":true})");
  ResumeState state{request()};
  state.opening();
  EXPECT_EQ(state.on_message(loading),
            (ResumeState::News{ResumeState::End{"", "model_loading: m"}}));
  state.opening();
  EXPECT_EQ(state.on_message(loading), (ResumeState::News{ResumeState::Later{"model_loading: m"}}));
}

TEST(ResumeState, TellsWhenTheQuestionWasWrongOrTakenBack) {
  ResumeState state{request()};
  state.opening();
  EXPECT_EQ(state.on_message(
                object(R"({"type":"ERROR","id":"chat-1","code":"invalid_request","message":"m"})")),
            (ResumeState::News{ResumeState::End{"", "invalid_request: m", true}}));
  EXPECT_EQ(state.on_message(
                object(R"({"type":"ERROR","id":"chat-1","code":"cancelled","message":"m"})")),
            (ResumeState::News{ResumeState::End{"cancelled", ""}}));
}

TEST(ResumeState, WaitsLongerEachTimeUpToALimit) {
  ResumeState state = answering(1);
  for (const auto pause : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    EXPECT_EQ(state.on_lost(kStart), Duration{pause});
  }
}

TEST(ResumeState, GivesUpWhenTheStreamGivesNoSignForLong) {
  ResumeState state = answering(1);
  EXPECT_TRUE(state.on_lost(kStart));
  EXPECT_TRUE(state.on_lost(kStart + 59s));
  EXPECT_FALSE(state.on_lost(kStart + 60s));
}

TEST(ResumeState, IsPatientAnewAfterEachSign) {
  ResumeState state = answering(1);
  EXPECT_TRUE(state.on_lost(kStart));
  EXPECT_TRUE(state.on_lost(kStart + 50s));
  state.on_message(object(R"({"type":"RESUMED","id":"chat-1","from":1,"head":1})"));
  EXPECT_EQ(state.on_lost(kStart + 70s), Duration{50ms});
}

}  // namespace
}  // namespace seedance::apps
