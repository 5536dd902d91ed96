#include "llama/answer_grammar.h"

#include <fmt/format.h>
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

struct Kept {
  std::string_view schema;
  std::vector<std::string_view> takes;
  std::vector<std::string_view> takes_not;
};

// What llama.cpp's converter by itself would make other answers of.
TEST(AnswerGrammar, KeepsToWhatItTakes) {
  const std::vector<Kept> table{
      // Names that differ in signs only, or look like the place of something else.
      {R"({"properties":{"u":{"$ref":"#/$defs/user"},"n":{"$ref":"#/$defs/user_name"}},
           "required":["u","n"],"$defs":{"user":{"properties":{"name":{"type":"string"}}},
           "user_name":{"type":"integer"}}})",
       {R"({"u":{"name":"a"},"n":1})"},
       {R"({"u":{"name":"a"},"n":"a"})"}},
      {R"({"properties":{"ref-defs-a":{"type":"null"},"b":{"$ref":"#/$defs/a"}},
           "required":["ref-defs-a","b"],"$defs":{"a":{"type":"boolean"}}})",
       {R"({"ref-defs-a":null,"b":true})"},
       {R"({"ref-defs-a":null,"b":null})"}},
      {R"({"type":"array","items":{"$ref":"#"},"maxItems":1})", {"[]", "[[]]"}, {"[[],[]]", "[1]"}},
      // Names that are no names of JSON, or one of the others by escapes.
      {R"({"properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"null"}})",
       {R"({"ab":1})", R"({"ac":null})", R"({"b\"":null})"},
       {R"({"ab":null})", R"({"\u0061b":null})", "{\"\\\":null}", "{\"\n\":null}"}},
      // Strings.
      {R"({"type":"string","pattern":"^.+$"})",
       {R"("a")", R"("\"")"},
       {R"(""")", R"("a"b")", "\"\n\""}},
      {R"({"type":"string","pattern":"^a\\.?b$"})", {R"("a.b")", R"("ab")"}, {R"("b")", R"("a.")"}},
      {R"({"type":"string","pattern":"^[^a]$"})",
       {R"("b")", R"("\\")"},
       {R"("a")", R"(""")", R"("\")"}},
      {R"({"type":"string","pattern":"^\"\n$"})", {R"("\"\n")"}, {"\"\"\n\""}},
      {R"({"type":"string","pattern":"^\\d{3,}(x|)$"})", {R"("123")", R"("1234x")"}, {R"("12")"}},
      {R"({"type":"string","minLength":1,"maxLength":2})",
       {R"("a")", R"("\u00e9b")"},
       {R"("")", R"("abc")", R"("\ud83d\ude00")"}},
      {R"({"type":["string","null"],"maxLength":1})", {R"("a")", "null"}, {R"("ab")", "1"}},
      {R"({"type":"string","format":"date"})", {R"("2024-01-31")"}, {R"("2024-13-31")"}},
      // Arrays.
      {R"({"prefixItems":[{"type":"null"},{"type":"boolean"}],"items":false})",
       {"[null,true]"},
       {"[null]", "[null,true,1]", "[true,null]"}},
      {R"({"type":"array","items":{"const":1},"minItems":2,"maxItems":3})",
       {"[1,1]", "[1,1,1]"},
       {"[1]", "[1,1,1,1]", "[]"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      // Together.
      {R"({"properties":{"a":{"const":1}},"required":["a"],
           "allOf":[{"properties":{"b":{"const":2}}}]})",
       {R"({"a":1})", R"({"a":1,"b":2})"},
       {R"({"b":2})", "{}", R"({"a":1,"b":1})"}},
      {R"({"allOf":[{"type":"string"}]})", {R"("a")"}, {"{}", "1"}},
      {R"({"anyOf":[{"type":"null"},{"properties":{"a":{"type":"integer"}},"required":["a"]}]})",
       {"null", R"({"a":1})"},
       {"{}"}},
      {R"({"enum":["\"\\\n\u0001",{"a":[1.5,null]}]})",
       {R"("\"\\\n\u0001")", R"({"a":[1.5,null]})"},
       {R"("\"")"}},
      {R"({"properties":{"a":true,"string":{"type":"null"}},"additionalProperties":false})",
       {"{}", R"({"a":[1],"string":null})"},
       {R"({"b":1})", R"({"string":"a"})"}},
  };
  for (const Kept& each : table) {
    for (const auto answer : each.takes)
      EXPECT_TRUE(takes(each.schema, answer)) << answer << "\n" << each.schema;
    for (const auto answer : each.takes_not)
      EXPECT_FALSE(takes(each.schema, answer)) << answer << "\n" << each.schema;
  }
}

// Bounds of one, two and three digits, and numbers next to them.
TEST(AnswerGrammar, IntegersAreWithinTheirBounds) {
  const std::vector<int> bounds{-205, -100, -99, -10, -9, -1, 0, 1, 9, 10, 20, 100, 105, 230};
  std::vector<int> numbers{5, -5, 1000};
  for (const int each : bounds) {
    for (const int next : {each - 1, each, each + 1, each / 10, 10 * each}) numbers.push_back(next);
  }
  const auto check = [&](const std::string& schema, auto within) {
    auto grammar = text::Grammar::parse(schema_grammar(schema));
    ASSERT_TRUE(grammar);
    GrammarMatcher matcher{*std::move(grammar)};
    const auto takes = [&](std::string_view answer) {
      auto state = matcher.start();
      for (const char byte : answer) state = matcher.next(state, static_cast<unsigned char>(byte));
      return matcher.may_end(state);
    };
    for (const int each : numbers) {
      EXPECT_EQ(takes(std::to_string(each)), within(each)) << schema << " " << each;
    }
    for (const char* wrong : {"00", "01", "-01", "-", "", "0100", "1.0", "-0205"}) {
      EXPECT_FALSE(takes(wrong)) << schema << " " << wrong;
    }
  };
  const auto schema_with = [](std::string_view keyword, int bound) {
    return fmt::format(R"({{"type":"integer","{}":{}}})", keyword, bound);
  };
  for (const int low : bounds) {
    check(schema_with("minimum", low), [&](int each) { return each >= low; });
    check(schema_with("exclusiveMaximum", low), [&](int each) { return each < low; });
    for (const int high : bounds) {
      if (high < low) continue;
      check(fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", low, high),
            [&](int each) { return each >= low && each <= high; });
    }
  }
}

TEST(AnswerGrammar, RefusesSchemasThatAreNone) {
  EXPECT_THAT(
      problem(Kind::json_schema, R"({"type":"object","properties":{"a":{"type":"what"}}})").message,
      HasSubstr("#/properties/a"));
  EXPECT_EQ(problem(Kind::json_schema, R"({"$ref":"#/nowhere"})").message,
            "\"field\" cannot be kept to: at #, \"$ref\" names nothing in the document.");
  EXPECT_THAT(problem(Kind::json_schema, R"({"$ref":"https://example.com/"})").message,
              HasSubstr("a pointer into the same document"));
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
              HasSubstr("no more than 2000"));
  std::string large = R"({"enum":[")";
  large += std::string(100'000, 'a') + "\"]}";
  EXPECT_THAT(problem(Kind::json_schema, large).message, HasSubstr("more than 65536 elements"));
}

// Schemas with which llama.cpp would compute for hours, or overrun the stack.
TEST(AnswerGrammar, RefusesWhatTakesTooMuch) {
  std::string many = R"({"type":"object","properties":{)";
  for (int i = 0; i < 4000; ++i) many += "\"p" + std::to_string(i) + "\":{},";
  EXPECT_THAT(problem(Kind::json_schema, many + R"("z":{}}})").message, HasSubstr("too much time"));
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
