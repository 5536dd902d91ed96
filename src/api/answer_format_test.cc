#include "api/answer_format.h"

#include <gtest/gtest.h>

#include "api/chat.h"
#include "api/completions.h"
#include "api/native.h"

namespace seedance::api {
namespace {

using text::AnswerFormat;
using Kind = AnswerFormat::Kind;

// Each gives the format of a request with these members more, or its problem.
using Outcome = std::expected<AnswerFormat, Problem>;

Outcome native(const std::string& members) {
  const auto message = parse_client_message(
      R"({"type":"INFER_REQ","id":"a","prompt":"p",)" + members + "}", Subprotocol::json);
  if (const auto* refusal = std::get_if<NativeRefusal>(&message)) {
    return std::unexpected(refusal->problem);
  }
  return std::get<InferRequest>(message).request.format;
}

Outcome chat(const std::string& members) {
  auto chat = parse_chat(R"({"messages":[{"role":"user","content":"p"}],)" + members + "}");
  if (!chat) return std::unexpected(chat.error());
  return chat->request.format;
}

Outcome completion(const std::string& members) {
  auto completion = parse_completion(R"({"prompt":"p",)" + members + "}");
  if (!completion) return std::unexpected(completion.error());
  return completion->request.format;
}

void expect_refused(const Outcome& outcome, std::string_view param) {
  ASSERT_FALSE(outcome) << param;
  EXPECT_EQ(outcome.error().code, ErrorCode::invalid_request);
  EXPECT_EQ(outcome.error().param, param) << outcome.error().message;
}

TEST(AnswerFormat, NativeTakesAGrammarOrASchema) {
  EXPECT_EQ(native(R"("grammar":null,"json_schema":null)"), AnswerFormat{});
  EXPECT_EQ(native(R"("grammar":"root ::= \"a\"")"),
            (AnswerFormat{Kind::grammar, "root ::= \"a\"", "grammar"}));
  // The order of members is the order of the answer.
  EXPECT_EQ(native(R"("json_schema":{"b":1,"a":[true, null]})"),
            (AnswerFormat{Kind::json_schema, R"({"b":1,"a":[true,null]})", "json_schema"}));
}

TEST(AnswerFormat, NativeRefusesWhatIsNone) {
  expect_refused(native(R"("grammar":{})"), "grammar");
  expect_refused(native(R"("grammar":"")"), "grammar");
  expect_refused(native(R"("json_schema":"{}")"), "json_schema");
  expect_refused(native(R"("json_schema":true)"), "json_schema");
  expect_refused(native(R"("json_schema":{"a":1,"a":2})"), "a");
  expect_refused(native(R"("grammar":"root ::= .","json_schema":{})"), "json_schema");
  expect_refused(native(R"("json_schema":{},"ignore_eos":true)"), "ignore_eos");
  expect_refused(native(R"("response_format":{"type":"text"})"), "response_format");
}

TEST(AnswerFormat, OpenAiTakesEveryType) {
  for (const auto& parse : {chat, completion}) {
    EXPECT_EQ(parse(R"("response_format":null)"), AnswerFormat{});
    EXPECT_EQ(parse(R"("response_format":{"type":"text"})"), AnswerFormat{});
    EXPECT_EQ(parse(R"("response_format":{"type":"json_object"})"),
              (AnswerFormat{Kind::json_schema, R"({"type":"object"})", "response_format"}));
    const AnswerFormat schema{Kind::json_schema, R"({"type":"array"})",
                              "response_format.json_schema.schema"};
    EXPECT_EQ(parse(R"("response_format":{"type":"json_schema",
                       "json_schema":{"name":"a_B-9","schema":{"type":"array"}}})"),
              schema);
    EXPECT_EQ(parse(R"("response_format":{"type":"json_schema","json_schema":{"name":"a",
                       "description":"d","strict":true,"schema":{"type":"array"}}})"),
              schema);
    EXPECT_EQ(parse(R"("grammar":"root ::= .","response_format":{"type":"text"})"),
              (AnswerFormat{Kind::grammar, "root ::= .", "grammar"}));
  }
}

TEST(AnswerFormat, OpenAiRefusesByTheWholeName) {
  const auto with = [](const std::string& format) { return R"("response_format":)" + format; };
  const auto schema = [&](const std::string& members) {
    return with(R"({"type":"json_schema","json_schema":)" + members + "}");
  };
  for (const auto& parse : {chat, completion}) {
    expect_refused(parse(with("[]")), "response_format");
    expect_refused(parse(with("{}")), "response_format.type");
    expect_refused(parse(with(R"({"type":"xml"})")), "response_format.type");
    expect_refused(parse(with(R"({"type":"text","schema":{}})")), "response_format.schema");
    expect_refused(parse(with(R"({"type":"json_object","json_schema":{}})")),
                   "response_format.json_schema");
    expect_refused(parse(with(R"({"type":"json_schema"})")), "response_format.json_schema");
    expect_refused(parse(schema("[]")), "response_format.json_schema");
    expect_refused(parse(schema(R"({"schema":{}})")), "response_format.json_schema.name");
    expect_refused(parse(schema(R"({"name":"a b","schema":{}})")),
                   "response_format.json_schema.name");
    expect_refused(parse(schema(R"({"name":")" + std::string(65, 'a') + R"(","schema":{}})")),
                   "response_format.json_schema.name");
    expect_refused(parse(schema(R"({"name":"a"})")), "response_format.json_schema.schema");
    expect_refused(parse(schema(R"({"name":"a","schema":[]})")),
                   "response_format.json_schema.schema");
    expect_refused(parse(schema(R"({"name":"a","schema":{},"strict":1})")),
                   "response_format.json_schema.strict");
    expect_refused(parse(schema(R"({"name":"a","schema":{},"other":1})")),
                   "response_format.json_schema.other");
    expect_refused(parse(R"("grammar":"root ::= .",)" + with(R"({"type":"json_object"})")),
                   "grammar");
    expect_refused(parse(R"("ignore_eos":true,)" + with(R"({"type":"json_object"})")),
                   "ignore_eos");
  }
}

}  // namespace
}  // namespace seedance::api
