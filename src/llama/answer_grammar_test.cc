#include "llama/answer_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/grammar_matcher.h"

namespace seedance::llama {
namespace {

using testing::HasSubstr;
using text::AnswerFormat;
using text::GrammarMatcher;
using Kind = AnswerFormat::Kind;

std::string schema_grammar(std::string_view schema) {
  const auto outcome = answer_grammar({Kind::json_schema, std::string{schema}, "json_schema"});
  const auto* grammar = std::get_if<std::string>(&outcome);
  EXPECT_NE(grammar, nullptr) << std::get<Problem>(outcome).message;
  return grammar == nullptr ? "" : *grammar;
}

Problem problem(Kind kind, std::string_view text) {
  const auto outcome = answer_grammar({kind, std::string{text}, "field"});
  const auto* problem = std::get_if<Problem>(&outcome);
  EXPECT_NE(problem, nullptr) << text.substr(0, 100);
  if (problem == nullptr) return {};
  EXPECT_EQ(problem->code, ErrorCode::invalid_request);
  EXPECT_EQ(problem->param, "field");
  return *problem;
}

bool takes(std::string_view schema, std::string_view answer) {
  auto grammar = text::Grammar::parse(schema_grammar(schema));
  EXPECT_TRUE(grammar);
  GrammarMatcher matcher{*std::move(grammar)};
  auto state = matcher.start();
  for (const char byte : answer) state = matcher.next(state, static_cast<unsigned char>(byte));
  return matcher.may_end(state);
}

TEST(AnswerGrammar, AnyAnswerHasNone) {
  EXPECT_EQ(std::get<std::string>(answer_grammar({})), "");
}

TEST(AnswerGrammar, AGrammarIsCheckedAndStays) {
  const std::string grammar = "root ::= [a-z]+";
  EXPECT_EQ(std::get<std::string>(answer_grammar({Kind::grammar, grammar, "grammar"})), grammar);
  EXPECT_EQ(problem(Kind::grammar, "root ::= other").message,
            "\"field\" cannot be used: line 1, byte 10: there is no such rule.");
  EXPECT_THAT(problem(Kind::grammar, "root ::= root \"a\" | \"b\"").message,
              HasSubstr("begin with itself"));
}

TEST(AnswerGrammar, ASchemaBecomesAGrammarThatKeepsToIt) {
  constexpr std::string_view kPerson = R"({"type":"object","required":["name","age"],
    "additionalProperties":false,"properties":{"name":{"type":"string","maxLength":5},
    "age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array",
    "items":{"enum":["a","b"]},"maxItems":2}}})";
  EXPECT_TRUE(takes(kPerson, R"({"name": "Ada", "age": 36})"));
  EXPECT_TRUE(takes(kPerson, R"({"name":"Ada","age":0,"tags":["a","b"]})"));
  EXPECT_FALSE(takes(kPerson, R"({"name":"Augusta","age":36})"));
  EXPECT_FALSE(takes(kPerson, R"({"name":"Ada","age":151})"));
  EXPECT_FALSE(takes(kPerson, R"({"name":"Ada"})"));
  EXPECT_FALSE(takes(kPerson, R"({"name":"Ada","age":1,"tags":["c"]})"));
  EXPECT_TRUE(takes(R"({"type":"object"})", R"({"a":[1,{"b":null}]})"));
  EXPECT_FALSE(takes(R"({"type":"object"})", "[]"));
  constexpr std::string_view kTree = R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"array",
    "items":{"$ref":"#/$defs/t"}}}})";
  EXPECT_TRUE(takes(kTree, "[[],[[]]]"));
  EXPECT_FALSE(takes(kTree, "[1]"));
  EXPECT_TRUE(takes(R"({"type":"string","pattern":"^a+(b|c)$"})", "\"aac\""));
}

TEST(AnswerGrammar, RefusesSchemasThatAreNone) {
  EXPECT_THAT(
      problem(Kind::json_schema, R"({"type":"object","properties":{"a":{"type":"what"}}})").message,
      HasSubstr("#/properties/a"));
  EXPECT_THAT(problem(Kind::json_schema, R"({"$ref":"#/nowhere"})").message,
              HasSubstr("cannot resolve"));
  EXPECT_THAT(problem(Kind::json_schema, R"({"$ref":"https://example.com/"})").message,
              HasSubstr("only references into the same document"));
  problem(Kind::json_schema, R"({"enum":[]})");
  problem(Kind::json_schema, R"({"type":"string","minLength":-1})");
  problem(Kind::json_schema, "[]");
  problem(Kind::json_schema, "{");
}

TEST(AnswerGrammar, RefusesWhatItCannotKeepTo) {
  testing::internal::CaptureStderr();
  EXPECT_THAT(problem(Kind::json_schema, R"({"type":"string","pattern":"(?=a)b"})").message,
              HasSubstr("pattern"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // It would hold the client's text.
  EXPECT_THAT(problem(Kind::json_schema, R"({"type":"string","maxLength":100000})").message,
              HasSubstr("repeats more than 2000 times"));
  std::string large = R"({"enum":[")";
  large += std::string(100'000, 'a') + "\"]}";
  EXPECT_THAT(problem(Kind::json_schema, large).message, HasSubstr("more than 65536 elements"));
}

// Schemas with which llama.cpp would compute for hours, or overrun the stack.
TEST(AnswerGrammar, RefusesWhatTakesTooMuch) {
  std::string many = R"({"type":"object","properties":{)";
  for (int i = 0; i < 4000; ++i) many += "\"p" + std::to_string(i) + "\":{},";
  EXPECT_THAT(problem(Kind::json_schema, many + R"("z":{}}})").message, HasSubstr("too much time"));
  EXPECT_THAT(problem(Kind::json_schema, R"({"allOf":[{"$ref":"#/$defs/a"}],
                                             "$defs":{"a":{"$ref":"#/$defs/a"}}})")
                  .message,
              HasSubstr("too much time or memory"));
}

// What takes some time and memory does only where it may.
TEST(AnswerGrammar, HasItsLimits) {
  std::string many = R"({"type":"object","properties":{)";
  for (int i = 0; i < 1000; ++i) many += "\"p" + std::to_string(i) + "\":{},";
  const AnswerFormat format{Kind::json_schema, many + R"("z":{}}})", "field"};
  const auto refused = [&](const SchemaLimits& limits) {
    const auto outcome = answer_grammar(format, limits);
    const auto* problem = std::get_if<Problem>(&outcome);
    return problem != nullptr && problem->message.contains("too much time or memory");
  };
  constexpr std::chrono::minutes kEnough{1};
  EXPECT_FALSE(refused({.cpu = kEnough}));
  EXPECT_TRUE(refused({.cpu = std::chrono::milliseconds{1}}));
  EXPECT_TRUE(refused({.cpu = kEnough, .bytes = 64 << 10}));
}

}  // namespace
}  // namespace seedance::llama
