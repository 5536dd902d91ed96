#include "api/chat.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

#include "api/view_fixture.h"
#include "base/random.h"
#include "base/unicode.h"

namespace seedance::api {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMuch = 1 << 20;

std::string chat_json(std::string_view fields) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}]{}{}}})",
                     fields.empty() ? "" : ",", fields);
}

ChatRequest chat(const std::string& body) {
  auto parsed = parse_chat(body);
  if (parsed) return std::move(*parsed);
  ADD_FAILURE() << "refused: " << parsed.error().message;
  return {};
}

Problem refusal(const std::string& body) {
  auto parsed = parse_chat(body);
  if (!parsed) return std::move(parsed.error());
  ADD_FAILURE() << "not refused: " << body;
  return {};
}

std::vector<text::ChatMessage> messages(std::string_view json) {
  const ChatRequest request = chat(fmt::format(R"({{"messages":{}}})", json));
  return std::get<std::vector<text::ChatMessage>>(request.request.input);
}

TEST(ParseChat, ReadsEveryField) {
  const ChatRequest parsed = chat(chat_json(
      R"("model":"m","max_completion_tokens":9,"temperature":0.5,"top_p":0.5,"seed":3,)"
      R"("presence_penalty":1,"frequency_penalty":-1,"logit_bias":{"5":-100},"logprobs":true,)"
      R"("top_logprobs":2,"stop":"x","stream":true,"stream_options":{"include_usage":true},)"
      R"("top_k":4,"min_p":0.1,"repeat_penalty":1.5,"ignore_eos":true,"boundary":"grapheme",)"
      R"("priority":"batch","deadline_ms":1000,)"
      R"("overflow":"shift","parent":"st_00000000000000000000000001")"));
  const core::GenerateRequest& request = parsed.request;
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.max_tokens, 9U);
  EXPECT_TRUE(request.seeded);
  EXPECT_EQ(request.text.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.text.boundary, text::Boundary::grapheme);
  EXPECT_EQ(request.overflow, text::Overflow::shift);
  EXPECT_EQ(request.parent, (StreamId{0, 1}));
  EXPECT_EQ(request.sampling, (engine::Sampling{.temperature = 0.5F,
                                                .top_k = 4,
                                                .top_p = 0.5F,
                                                .min_p = 0.1F,
                                                .presence_penalty = 1,
                                                .frequency_penalty = -1,
                                                .repeat_penalty = 1.5F,
                                                .seed = 3,
                                                .logit_bias = {{TokenId{5}, -100.0F}},
                                                .logprobs = true,
                                                .top_logprobs = 2,
                                                .ignore_eos = true}));
  EXPECT_EQ(parsed.options, (ChatOptions{.stream = true, .include_usage = true, .logprobs = true}));
  EXPECT_EQ(request.surface, core::Surface::chat);
  EXPECT_TRUE(request.include_usage);
  EXPECT_EQ(request.priority, Priority::batch);
  EXPECT_EQ(request.deadline, std::chrono::seconds{1});
  EXPECT_EQ(request.detach, core::Detach::automatic);
}

TEST(ParseChat, TakesMessagesOfTextInEitherForm) {
  EXPECT_EQ(messages(R"([{"role":"system","content":"s"},{"role":"developer","content":""},)"
                     R"({"role":"user","content":[{"type":"text","text":"a"},)"
                     R"({"type":"text","text":"b"}]},)"
                     R"({"role":"assistant","content":"c","refusal":null,"annotations":[],)"
                     R"("tool_calls":[]}])"),
            (std::vector<text::ChatMessage>{
                {"system", "s"}, {"developer", ""}, {"user", "a\nb"}, {"assistant", "c"}}));
}

TEST(ParseChat, NamesThePartOfAMessageThatIsWrong) {
  const std::vector<std::pair<std::string_view, std::string_view>> wrong{
      {"[]", "messages"},
      {"{}", "messages"},
      {"\"x\"", "messages"},
      {"[5]", "messages[0]"},
      {R"([{"content":"x"}])", "messages[0].role"},
      {R"([{"role":"user","content":"x"},{"role":"tool","content":"x"}])", "messages[1].role"},
      {R"([{"role":"user"}])", "messages[0].content"},
      {R"([{"role":"user","content":null}])", "messages[0].content"},
      {R"([{"role":"user","content":[]}])", "messages[0].content"},
      {R"([{"role":"user","content":5}])", "messages[0].content"},
      {R"([{"role":"user","content":["x"]}])", "messages[0].content[0]"},
      {R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url",)"
       R"("image_url":{"url":"u"}}]}])",
       "messages[0].content[1].type"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
      {R"([{"role":"user","content":[{"type":"text","text":"x","cache":1}]}])",
       "messages[0].content[0].cache"},
      {R"([{"role":"user","content":"x","name":"n"}])", "messages[0].name"},
      {R"([{"role":"assistant","content":"x","tool_calls":[{}]}])", "messages[0].tool_calls"},
      {R"([{"role":"user","content":"x","colour":1}])", "messages[0].colour"},
  };
  for (const auto& [json, param] : wrong) {
    const Problem problem = refusal(fmt::format(R"({{"messages":{}}})", json));
    EXPECT_EQ(problem.param, param) << json;
    EXPECT_THAT(problem.message, HasSubstr(fmt::format("\"{}\"", param)));
  }
  EXPECT_EQ(refusal("{}").param, "messages");
}

// A value that a fixed field does not take.
TEST(ParseChat, RefusesOtherValuesOfFixedFieldsByName) {
  int fixed = 0;
  for (const FieldRule& rule : chat_fields()) {
    if (rule.use != FieldUse::fixed) continue;
    const Problem problem = refusal(chat_json(fmt::format(R"("{}":{{"a":1}})", rule.name)));
    EXPECT_EQ(problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(problem.param, rule.name);
    EXPECT_THAT(problem.message, HasSubstr(fmt::format("\"{}\" ", rule.name)));
    EXPECT_FALSE(rule.reason.empty()) << rule.name;
    ++fixed;
  }
  EXPECT_EQ(fixed, 12);
  EXPECT_EQ(refusal(chat_json(R"("n":2)")).message,
            "\"n\" must be 1: several choices are not supported.");
  EXPECT_EQ(refusal(chat_json(R"("tools":[{"type":"function"}])")).param, "tools");
  EXPECT_EQ(refusal(chat_json(R"("tool_choice":"required")")).param, "tool_choice");
  EXPECT_EQ(refusal(chat_json(R"("modalities":["text","audio"])")).param, "modalities");
  EXPECT_EQ(refusal(chat_json(R"("store":true)")).param, "store");
  EXPECT_EQ(refusal(chat_json(R"("frequency":1)")).message, "\"frequency\" is unknown.");
}

TEST(ParseChat, TakesWhatChangesNothing) {
  for (const FieldRule& rule : chat_fields()) {
    if (rule.name == "messages") continue;
    chat(chat_json(fmt::format(R"("{}":null)", rule.name)));
    if (rule.use == FieldUse::ignored) {
      EXPECT_FALSE(rule.reason.empty()) << rule.name;
      chat(chat_json(fmt::format(R"("{}":{{"a":[1]}})", rule.name)));
    }
    if (rule.use != FieldUse::fixed || rule.values.empty()) continue;
    const auto allowed = boost::json::parse(rule.values);
    for (const auto& value : allowed.as_array()) {
      chat(chat_json(fmt::format(R"("{}":{})", rule.name, boost::json::serialize(value))));
    }
  }
  chat(chat_json(R"("stream":true,"stream_options":{"include_obfuscation":true})"));
}

TEST(ParseChat, RefusesWrongValuesByName) {
  const std::vector<std::pair<std::string_view, std::string_view>> wrong{
      {R"("temperature":9)", "temperature"},
      {R"("priority":"high")", "priority"},
      {R"("deadline_ms":0)", "deadline_ms"},
      {R"("top_p":1,"top_p":1)", "top_p"},
      {R"("metadata":{"a":"1","a":"1"})", "a"},
      {R"("stream":true,"stream_options":{"include_usage":true,"include_usage":true})",
       "include_usage"},
      {R"("temperature":1e999)", "temperature"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_completion_tokens":"9")", "max_completion_tokens"},
      {R"("max_tokens":5,"max_completion_tokens":9)", "max_tokens"},
      {R"("logprobs":5)", "logprobs"},
      {R"("top_logprobs":5)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":5)", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":5})", "stream_options.include_usage"},
      {R"("stream":true,"stream_options":{"pad":5})", "stream_options.pad"},
  };
  for (const auto& [fields, param] : wrong) EXPECT_EQ(refusal(chat_json(fields)).param, param);
  EXPECT_EQ(chat(chat_json(R"("max_tokens":5,"max_completion_tokens":5)")).request.max_tokens, 5U);
}

TEST(ParseChat, RefusesWhatIsNoRequest) {
  std::string deep = R"({"metadata":)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  for (const std::string& body : {std::string{}, std::string{"[]"}, std::string{"{\"a\":NaN}"},
                                  std::string{"{\"user\":\"\xC3\"}"}, deep}) {
    const Problem problem = refusal(body);
    EXPECT_EQ(problem.code, ErrorCode::invalid_request);
    EXPECT_FALSE(problem.message.empty());
  }
}

// What a client has of one stream.
struct Client {
  std::string text;
  int chunks = 0;
  int roles = 0;
  int usages = 0;
  int errors = 0;
  int dones = 0;
  std::vector<std::string> reasons;
  boost::json::array logprobs;
  Offset next;  // As the id of the last event says.

  void on_event(const Event& event) {
    EXPECT_EQ(event.id.stream, kStream);
    EXPECT_EQ(event.id.epoch, Epoch{1});
    EXPECT_GE(event.id.next, next) << "ids only grow";
    next = event.id.next;
    on_data(event.data);
  }

  void on_data(const std::string& data) {
    ASSERT_FALSE(data.empty());
    ASSERT_EQ(dones + errors, 0) << "an event after the end";
    if (data == "[DONE]") {
      ++dones;
      return;
    }
    const auto event = boost::json::parse(data);
    if (event.as_object().contains("error")) {
      ++errors;
      return;
    }
    EXPECT_EQ(as_string(event.at("id")), "chatcmpl-" + to_text(kStream));
    EXPECT_EQ(event.at("object"), "chat.completion.chunk");
    EXPECT_EQ(event.at("created"), 1'700'000'000);
    EXPECT_EQ(event.at("model"), "tiny@1");
    if (event.at("choices").as_array().empty()) {
      EXPECT_EQ(reasons.size(), 1U) << "usage comes last";
      EXPECT_EQ(event.at("usage").at("prompt_tokens"), 7);
      ++usages;
      return;
    }
    on_choice(event.at("choices").at(0));
  }

  void on_choice(const boost::json::value& choice) {
    EXPECT_TRUE(reasons.empty()) << "a choice after the finish_reason";
    const auto& delta = choice.at("delta").as_object();
    if (delta.contains("role")) {
      EXPECT_EQ(chunks, 0) << "the role comes first";
      ++roles;
    }
    if (delta.contains("content")) {
      EXPECT_TRUE(is_utf8(as_string(delta.at("content"))));
      text += as_string(delta.at("content"));
    }
    if (choice.at("logprobs").is_object()) {
      for (const auto& token : choice.at("logprobs").at("content").as_array()) {
        logprobs.push_back(token);
      }
    }
    if (!choice.at("finish_reason").is_null())
      reasons.push_back(as_string(choice.at("finish_reason")));
    ++chunks;
  }
};

Client read(std::string_view body, BodyFraming framing) {
  Body whole{.content = std::string{body}, .ended = true};
  if (framing == BodyFraming::chunked) whole = dechunk(body);
  EXPECT_TRUE(whole.ended);
  Client client;
  for (const Event& event : events(whole.content)) client.on_event(event);
  return client;
}

void check_any_cut(std::uint64_t seed) {
  Prng prng{seed};
  TestStream stream{true};
  const ChatOptions options{
      .stream = true, .include_usage = seed % 2 == 0, .logprobs = seed % 3 == 0};
  const auto framing = seed % 5 == 0 ? BodyFraming::until_close : BodyFraming::chunked;
  const ChatSseView view{AnswerHead{stream.accepted()}, options, framing};
  stream::Cursor cursor;
  DeliveryCheck check;
  std::string body;
  const std::uint64_t tokens = prng.below(200);
  while (!cursor.done) {
    for (std::uint64_t i = prng.below(20); i > 0 && stream.log.appended().value < tokens; --i) {
      add_awkward(stream, stream.log.appended().value);
    }
    if (stream.log.appended().value == tokens && !stream.log.head().done) {
      stream.end(stream::FinishReason::length);
    }
    if (prng.below(4) == 0) append_keepalive(body, framing);
    const std::size_t bytes_max = prng.below(3) == 0 ? kMuch : prng.below(300);
    EXPECT_TRUE(check.on_rendered(view.render(stream.log, cursor, body, bytes_max)));
  }
  EXPECT_TRUE(check.complete({tokens}));
  const std::size_t size = body.size();
  view.render(stream.log, cursor, body, kMuch);
  EXPECT_EQ(body.size(), size) << "nothing follows the end";
  const Client client = read(body, framing);
  EXPECT_EQ(client.text, stream.text);
  EXPECT_EQ(client.roles, 1);
  EXPECT_EQ(client.reasons, std::vector<std::string>{"length"});
  EXPECT_EQ(client.usages, options.include_usage ? 1 : 0);
  EXPECT_EQ(client.dones, 1);
  EXPECT_EQ(client.logprobs.size(), options.logprobs ? tokens : 0);
  EXPECT_EQ(client.next, Offset{tokens});
}

TEST(ChatSseView, GivesTheSameStreamHoweverItIsCut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    check_any_cut(seed);
  }
}

std::string render_all(const TestStream& stream, const ChatOptions& options,
                       BodyFraming framing = BodyFraming::until_close) {
  std::string body;
  stream::Cursor cursor;
  ChatSseView{AnswerHead{stream.accepted()}, options, framing}.render(stream.log, cursor, body,
                                                                      kMuch);
  EXPECT_TRUE(cursor.done);
  return body;
}

TEST(ChatSseView, WritesTheEventsOfOpenAi) {
  TestStream stream;
  stream.add("Hi\n");
  stream.end(stream::FinishReason::stop);
  const std::string head = id_line(1) + R"(data: {"id":"chatcmpl-)" + to_text(kStream) +
                           R"(","object":"chat.completion.chunk","created":1700000000,)"
                           R"("model":"tiny@1","choices":[)";
  const std::string first = id_line(0) + head.substr(id_line(1).size());
  EXPECT_EQ(render_all(stream, {.stream = true, .include_usage = true}),
            first +
                R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
                R"("finish_reason":null}],"usage":null})"
                "\n\n" +
                head +
                R"({"index":0,"delta":{"content":"Hi\n"},"logprobs":null,)"
                R"("finish_reason":null}],"usage":null})"
                "\n\n" +
                head +
                R"({"index":0,"delta":{},"logprobs":null,)"
                R"("finish_reason":"stop"}],"usage":null})"
                "\n\n" +
                head +
                R"(],"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8,)"
                R"("prompt_tokens_details":{"cached_tokens":0}}})"
                "\n\n" +
                id_line(1) + "data: [DONE]\n\n");
}

// A client that lost its connection anywhere comes back with the last id that it
// saw, and ends with the same text and one role.
TEST(ChatSseView, GoesOnBehindTheLastEventOfAClient) {
  TestStream stream{true};
  for (std::size_t i = 0; i < 30; ++i) add_awkward(stream, i);
  stream.end(stream::FinishReason::stop);
  const ChatOptions options{.stream = true, .include_usage = true, .logprobs = true};
  const ChatSseView view{AnswerHead{stream.accepted()}, options, BodyFraming::until_close};
  std::string whole;
  for (stream::Cursor cursor; !cursor.done;) view.render(stream.log, cursor, whole, 0);
  const std::vector<Event> all = events(whole);
  for (std::size_t seen = 1; seen < all.size(); ++seen) {
    Client client;
    for (std::size_t i = 0; i < seen; ++i) client.on_event(all[i]);
    if (!client.reasons.empty()) break;  // Only the end is told twice.
    stream::Cursor cursor{.next = client.next};
    std::string rest;
    view.render(stream.log, cursor, rest, kMuch);
    if (client.next == Offset{0}) client = {};  // It has nothing but a role.
    for (const Event& event : events(rest)) client.on_event(event);
    EXPECT_EQ(client.text, stream.text);
    EXPECT_EQ(client.logprobs.size(), 30U);
    EXPECT_EQ(client.roles, 1);
    EXPECT_EQ(client.reasons.size(), 1U);
    EXPECT_EQ(client.usages, 1);
    EXPECT_EQ(client.dones, 1);
  }
}

TEST(ChatSseView, HasARoleAndAnEndWithoutTokens) {
  TestStream stream;
  stream.end(stream::FinishReason::stop);
  const Client client = read(render_all(stream, {}, BodyFraming::chunked), BodyFraming::chunked);
  EXPECT_EQ(client.roles, 1);
  EXPECT_EQ(client.reasons, std::vector<std::string>{"stop"});
}

// Pitfall: an aborted stream must not look like a finished one.
TEST(ChatSseView, EndsAFailureWithAnErrorAndNothingElse) {
  for (const bool with_token : {false, true}) {
    TestStream stream;
    if (with_token) stream.add("a");
    stream.end(stream::FinishReason::error,
               Problem{.code = ErrorCode::engine_failed, .message = "The worker ended."});
    const Client client = read(render_all(stream, {.include_usage = true}, BodyFraming::chunked),
                               BodyFraming::chunked);
    EXPECT_EQ(client.errors, 1);
    EXPECT_EQ(client.dones, 0);
    EXPECT_EQ(client.usages, 0);
    EXPECT_TRUE(client.reasons.empty());
    EXPECT_EQ(client.text, with_token ? "a" : "");
  }
  TestStream cancelled;
  cancelled.end(stream::FinishReason::cancelled);
  EXPECT_EQ(render_all(cancelled, {}),
            id_line(0) + R"(data: {"error":{"message":"The generation was cancelled.",)"
                         R"("type":"invalid_request_error","param":null,"code":"cancelled"}})"
                         "\n\n");
}

TEST(ChatSseView, SendsNothingForTokensThatShowNothing) {
  TestStream stream;
  const ChatSseView view{AnswerHead{stream.accepted()}, {}, BodyFraming::chunked};
  stream::Cursor cursor;
  std::string out;
  stream.add("a");
  view.render(stream.log, cursor, out, kMuch);
  out.clear();
  stream.add("\xF0\x9F", "");
  view.render(stream.log, cursor, out, kMuch);
  EXPECT_EQ(out, "");
  EXPECT_EQ(cursor.next, Offset{2});
}

TEST(ChatSseView, TellsLogprobsOfAllButTheEndToken) {
  TestStream stream{true};
  stream.add("Hi");
  stream.add("\xF0\x9F", "");
  stream.add_end();
  stream.end(stream::FinishReason::stop);
  const Client client = read(render_all(stream, {.logprobs = true}), BodyFraming::until_close);
  ASSERT_EQ(client.logprobs.size(), 2U);
  EXPECT_EQ(
      client.logprobs[1],
      boost::json::parse(R"({"token":"\ufffd","logprob":-2.5E-1,"bytes":[240,159],"top_logprobs":[)"
                         R"({"token":"\ufffd","logprob":-2.5E-1,"bytes":[240,159]},)"
                         R"({"token":"Hi","logprob":-8,"bytes":[72,105]}]})"));
}

// As of a stream that was recovered before the model's vocabulary is there.
TEST(ChatSseView, LeavesLogprobsOutWithoutNamesForTokens) {
  TestStream stream{true};
  stream.add("Hi");
  stream.end(stream::FinishReason::stop);
  stream.pieces.reset();
  const Client client = read(render_all(stream, {.logprobs = true}), BodyFraming::until_close);
  EXPECT_EQ(client.text, "Hi");
  EXPECT_TRUE(client.logprobs.empty());
  EXPECT_EQ(client.dones, 1);
  const HttpAnswer answer =
      chat_answer(AnswerHead{stream.accepted()}, {.logprobs = true}, stream.log);
  const auto body = boost::json::parse(answer.body);
  EXPECT_TRUE(body.at("choices").at(0).at("logprobs").is_null());
}

TEST(ChatAnswer, HoldsTheWholeText) {
  TestStream stream;
  for (std::size_t i = 0; i < 50; ++i) add_awkward(stream, i);
  stream.end(stream::FinishReason::length);
  const HttpAnswer answer = chat_answer(AnswerHead{stream.accepted()}, {}, stream.log);
  EXPECT_EQ(answer.status, 200);
  const auto body = boost::json::parse(answer.body);
  EXPECT_EQ(as_string(body.at("id")), "chatcmpl-" + to_text(kStream));
  EXPECT_EQ(body.at("object"), "chat.completion");
  ASSERT_EQ(body.at("choices").as_array().size(), 1U);
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("index"), 0);
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_EQ(as_string(choice.at("message").at("content")), stream.text);
  EXPECT_TRUE(choice.at("message").at("refusal").is_null());
  EXPECT_TRUE(choice.at("logprobs").is_null());
  EXPECT_EQ(choice.at("finish_reason"), "length");
  EXPECT_EQ(body.at("usage"),
            boost::json::parse(R"({"prompt_tokens":7,"completion_tokens":50,"total_tokens":57,
                                     "prompt_tokens_details":{"cached_tokens":0}})"));
}

TEST(ChatAnswer, GivesAFailureItsStatus) {
  TestStream stream;
  stream.add("a");
  stream.end(stream::FinishReason::error,
             Problem{.code = ErrorCode::engine_failed, .message = "The worker ended."});
  const HttpAnswer answer = chat_answer(AnswerHead{stream.accepted()}, {}, stream.log);
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(boost::json::parse(answer.body).at("error").at("code"), "engine_failed");
}

}  // namespace
}  // namespace seedance::api
