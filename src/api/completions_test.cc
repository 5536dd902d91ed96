#include "api/completions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <span>

#include "api/view_fixture.h"
#include "base/random.h"

namespace seedance::api {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMuch = 1 << 20;

std::string completion_json(std::string_view fields) {
  return fmt::format(R"({{"prompt":"p"{}{}}})", fields.empty() ? "" : ",", fields);
}

CompletionRequest completion(const std::string& body) {
  auto parsed = parse_completion(body);
  if (parsed) return std::move(*parsed);
  ADD_FAILURE() << "refused: " << parsed.error().message;
  return {};
}

Problem refusal(const std::string& body) {
  auto parsed = parse_completion(body);
  if (!parsed) return std::move(parsed.error());
  ADD_FAILURE() << "not refused: " << body;
  return {};
}

TEST(ParseCompletion, TakesDefaults) {
  const CompletionRequest parsed = completion(completion_json(""));
  EXPECT_EQ(parsed.request.max_tokens, kCompletionTokensDefault);
  EXPECT_EQ(parsed.request.sampling, engine::Sampling{});
  EXPECT_EQ(parsed.request.priority, Priority::interactive);
  EXPECT_EQ(completion(completion_json(R"("priority":"realtime")")).request.priority,
            Priority::realtime);
  EXPECT_EQ(parsed.options, CompletionOptions{});
  EXPECT_EQ(parsed.request.surface, core::Surface::completions);
  EXPECT_FALSE(parsed.request.include_usage);
  EXPECT_TRUE(
      completion(completion_json(R"("stream":true,"stream_options":{"include_usage":true})"))
          .request.include_usage);
}

TEST(ParseCompletion, TakesOnePromptInAnyForm) {
  const text::PromptInput text = std::string{"p"};
  const text::PromptInput tokens = std::vector{TokenId{1}, TokenId{2}};
  EXPECT_EQ(completion(R"({"prompt":"p"})").request.input, text);
  EXPECT_EQ(completion(R"({"prompt":["p"]})").request.input, text);
  EXPECT_EQ(completion(R"({"prompt":[1,2]})").request.input, tokens);
  EXPECT_EQ(completion(R"({"prompt":[[1,2]]})").request.input, tokens);
  for (const std::string_view prompt :
       {R"(["p","q"])", "[[1],[2]]", "[]", "[[]]", "[[[1]]]", "5", "[1,\"p\"]", "{}", "null"}) {
    EXPECT_EQ(refusal(fmt::format(R"({{"prompt":{}}})", prompt)).param, "prompt") << prompt;
  }
  EXPECT_EQ(refusal("{}").param, "prompt");
}

TEST(ParseCompletion, ReadsLogprobsAsACount) {
  EXPECT_FALSE(completion(completion_json("")).options.logprobs);
  const CompletionRequest none = completion(completion_json(R"("logprobs":0)"));
  EXPECT_TRUE(none.options.logprobs);
  EXPECT_EQ(none.request.sampling.top_logprobs, 0U);
  EXPECT_EQ(completion(completion_json(R"("logprobs":5)")).request.sampling.top_logprobs, 5U);
  EXPECT_EQ(refusal(completion_json(R"("logprobs":6)")).param, "logprobs");
  EXPECT_EQ(refusal(completion_json(R"("logprobs":true)")).param, "logprobs");
}

TEST(ParseCompletion, RefusesWhatIsNotSupportedByName) {
  for (const std::string_view field :
       {R"("n":2)", R"("best_of":3)", R"("echo":true)", R"("suffix":"s")", R"("messages":[])",
        R"("max_tokens":0)", R"("temperature":-1)", R"("seed":1,"seed":1)", R"("priority":1)",
        R"("deadline_ms":"1")"}) {
    const std::string name{field.substr(1, field.find(':') - 2)};
    const Problem problem = refusal(completion_json(field));
    EXPECT_EQ(problem.param, name);
    EXPECT_THAT(problem.message, HasSubstr(fmt::format("\"{}\"", name)));
  }
  completion(completion_json(R"("n":1,"best_of":1,"echo":false,"suffix":"","user":"u")"));
}

struct Client {
  std::string text;
  std::vector<std::string> reasons;
  std::vector<std::uint64_t> text_offsets;
  int usages = 0;
  int dones = 0;
  Offset next;  // As the id of the last event says.

  void on_event(const Event& event) {
    EXPECT_GE(event.id.next, next) << "ids only grow";
    next = event.id.next;
    on_data(event.data);
  }

  void on_data(const std::string& data) {
    ASSERT_EQ(dones, 0) << "an event after the end";
    if (data == "[DONE]") {
      ++dones;
      return;
    }
    const auto event = boost::json::parse(data);
    EXPECT_EQ(as_string(event.at("id")), "cmpl-" + to_text(kStream));
    EXPECT_EQ(event.at("object"), "text_completion");
    if (event.at("choices").as_array().empty()) {
      ++usages;
      return;
    }
    const auto& choice = event.at("choices").at(0);
    text += as_string(choice.at("text"));
    if (!choice.at("finish_reason").is_null())
      reasons.push_back(as_string(choice.at("finish_reason")));
    if (choice.at("logprobs").is_null()) return;
    for (const auto& offset : choice.at("logprobs").at("text_offset").as_array()) {
      text_offsets.push_back(offset.to_number<std::uint64_t>());
    }
  }
};

void check_any_cut(std::uint64_t seed) {
  Prng prng{seed};
  TestStream stream{true};
  const CompletionOptions options{
      .stream = true, .include_usage = seed % 2 == 0, .logprobs = seed % 3 == 0};
  CompletionSseView view{AnswerHead{stream.accepted()}, options, BodyFraming::chunked};
  stream::Cursor cursor;
  DeliveryCheck check;
  std::string body;
  const std::uint64_t tokens = prng.below(200);
  while (!cursor.done) {
    for (std::uint64_t i = prng.below(20); i > 0 && stream.log.appended().value < tokens; --i) {
      add_awkward(stream, stream.log.appended().value);
    }
    if (stream.log.appended().value == tokens && !stream.log.head().done) {
      stream.end(stream::FinishReason::stop);
    }
    const std::size_t bytes_max = prng.below(3) == 0 ? kMuch : prng.below(300);
    EXPECT_TRUE(check.on_rendered(view.render(stream.log, cursor, body, bytes_max)));
  }
  EXPECT_TRUE(check.complete({tokens}));
  Client client;
  for (const Event& event : events(dechunk(body).content)) client.on_event(event);
  EXPECT_EQ(client.next, Offset{tokens});
  EXPECT_EQ(client.text, stream.text);
  EXPECT_EQ(client.reasons, std::vector<std::string>{"stop"});
  EXPECT_EQ(client.usages, options.include_usage ? 1 : 0);
  EXPECT_EQ(client.dones, 1);
  EXPECT_EQ(client.text_offsets.size(), options.logprobs ? tokens : 0);
  EXPECT_TRUE(std::ranges::is_sorted(client.text_offsets));
}

TEST(CompletionSseView, GivesTheSameStreamHoweverItIsCut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    check_any_cut(seed);
  }
}

TEST(CompletionSseView, EndsAFailureWithAnErrorAndNothingElse) {
  TestStream stream;
  stream.end(stream::FinishReason::error,
             Problem{.code = ErrorCode::engine_failed, .message = "The worker ended."});
  CompletionSseView view{AnswerHead{stream.accepted()}, {}, BodyFraming::until_close};
  stream::Cursor cursor;
  std::string body;
  view.render(stream.log, cursor, body, kMuch);
  EXPECT_EQ(body, id_line(0) +
                      R"(data: {"error":{"message":"The worker ended.","type":"server_error",)"
                      R"("param":null,"code":"engine_failed"}})"
                      "\n\n");
}

TEST(CompletionSseView, GoesOnInTheMiddle) {
  TestStream stream{true};
  for (std::size_t i = 0; i < 30; ++i) add_awkward(stream, i);
  stream.end(stream::FinishReason::stop);
  const auto read = [&](Offset from) {
    CompletionSseView view{
        AnswerHead{stream.accepted()}, {.logprobs = true}, BodyFraming::until_close};
    stream::Cursor cursor{.next = from};
    std::string body;
    view.render(stream.log, cursor, body, kMuch);
    Client client;
    for (const Event& event : events(body)) client.on_event(event);
    return client;
  };
  const Client all = read({0});
  for (std::uint64_t from = 0; from <= 30; ++from) {
    const Client rest = read({from});
    std::string before;
    stream.log.append_text({0}, {from}, before);
    EXPECT_EQ(before + rest.text, stream.text);
    ASSERT_EQ(rest.text_offsets.size(), 30 - from);
    EXPECT_TRUE(std::ranges::equal(rest.text_offsets, std::span{all.text_offsets}.subspan(from)));
    EXPECT_EQ(rest.dones, 1);
  }
}

TEST(CompletionAnswer, HasLogprobsInTheLegacyShape) {
  TestStream stream{true};
  stream.add("\xE4\xBD\xA0");
  stream.add("\xF0\x9F", "");
  stream.add("\x98\x80", "\xF0\x9F\x98\x80");
  stream.add("!");
  stream.add_end();
  stream.end(stream::FinishReason::stop);
  const HttpAnswer answer =
      completion_answer(AnswerHead{stream.accepted()}, {.logprobs = true}, stream.log);
  EXPECT_EQ(answer.status, 200);
  const auto body = boost::json::parse(answer.body);
  EXPECT_EQ(as_string(body.at("choices").at(0).at("text")), stream.text);
  const auto& logprobs = body.at("choices").at(0).at("logprobs");
  EXPECT_EQ(logprobs.at("tokens"),
            boost::json::parse(R"(["\u4f60","bytes:\\xf0\\x9f","bytes:\\x98\\x80","!"])"));
  EXPECT_EQ(logprobs.at("text_offset"), boost::json::parse("[0,1,1,2]"));
  EXPECT_EQ(logprobs.at("token_logprobs").as_array().size(), 4U);
  EXPECT_EQ(logprobs.at("top_logprobs").at(3).at("!").to_number<double>(), -0.75);
}

// As of a stream that was recovered before the model's vocabulary is there.
TEST(CompletionAnswer, LeavesLogprobsOutWithoutNamesForTokens) {
  TestStream stream{true};
  stream.add("Hi");
  stream.end(stream::FinishReason::stop);
  stream.pieces.reset();
  const AnswerHead head{stream.accepted()};
  const auto body =
      boost::json::parse(completion_answer(head, {.logprobs = true}, stream.log).body);
  EXPECT_TRUE(body.at("choices").at(0).at("logprobs").is_null());
  CompletionSseView view{head, {.logprobs = true}, BodyFraming::until_close};
  stream::Cursor cursor;
  std::string events_body;
  view.render(stream.log, cursor, events_body, kMuch);
  Client client;
  for (const Event& event : events(events_body)) client.on_event(event);
  EXPECT_EQ(client.text, "Hi");
  EXPECT_TRUE(client.text_offsets.empty());
  EXPECT_EQ(client.dones, 1);
}

TEST(CompletionAnswer, GivesAFailureItsStatus) {
  TestStream stream;
  stream.end(stream::FinishReason::cancelled);
  EXPECT_EQ(completion_answer(AnswerHead{stream.accepted()}, {}, stream.log).status, 499);
}

}  // namespace
}  // namespace seedance::api
