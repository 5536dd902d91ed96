#include "text/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::text {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using Kind = GrammarElement::Kind;

Gbnf parsed(std::string_view text) {
  auto result = parse_gbnf(text);
  EXPECT_TRUE(result) << (result ? "" : result.error().detail);
  return result ? *std::move(result) : Gbnf{};
}

std::string problem(std::string_view text) {
  const auto result = parse_gbnf(text);
  EXPECT_FALSE(result) << text;
  return result ? "" : result.error().detail;
}

TEST(Gbnf, ReadsRulesAlternativesAndReferences) {
  const Gbnf gbnf =
      parsed("# a comment\nroot ::= \"a\" other |\n  other # more\n\nother ::= [b-c]\r\n");
  ASSERT_THAT(gbnf.rules, SizeIs(2));
  EXPECT_EQ(gbnf.root, 0U);
  EXPECT_THAT(gbnf.rules[0].alternatives, ElementsAre(ElementsAre(GrammarElement{Kind::chars, 0},
                                                                  GrammarElement{Kind::rule, 1}),
                                                      ElementsAre(GrammarElement{Kind::rule, 1})));
  EXPECT_THAT(gbnf.sets,
              ElementsAre(ElementsAre(CharRange{'a', 'a'}), ElementsAre(CharRange{'b', 'c'})));
}

TEST(Gbnf, ReadsEscapesAndSets) {
  EXPECT_THAT(parsed(R"(root ::= "\x41\u00e9\U0001F331\t\r\n\\\"\[\]\-")").sets, SizeIs(11));
  EXPECT_THAT(
      parsed(R"(root ::= [a\-z-])").sets,
      ElementsAre(ElementsAre(CharRange{'-', '-'}, CharRange{'a', 'a'}, CharRange{'z', 'z'})));
  EXPECT_THAT(parsed("root ::= [^b-y]").sets,
              ElementsAre(ElementsAre(CharRange{1, 'a'}, CharRange{'z', 0xD7FF},
                                      CharRange{0xE000, 0x10FFFF})));
  EXPECT_THAT(parsed("root ::= [a-cb-e\u00e9]").sets,
              ElementsAre(ElementsAre(CharRange{'a', 'e'}, CharRange{0xE9, 0xE9})));
  EXPECT_THAT(parsed(R"(root ::= [^\UFFFFFFFF])").sets,
              ElementsAre(ElementsAre(CharRange{1, 0xD7FF}, CharRange{0xE000, 0x10FFFF})));
  EXPECT_EQ(parsed("root ::= .").sets, parsed(R"(root ::= [\x00-\U0010FFFF])").sets);
}

TEST(Gbnf, AGroupMayGoOverLines) {
  EXPECT_THAT(parsed("root ::= ( \"a\"\n| \"b\"\n) \"c\"\n").rules, SizeIs(2));
}

TEST(Gbnf, SaysWhereItIsWrongAndQuotesNothing) {
  EXPECT_EQ(problem(""), "line 1, byte 1: there is no rule named \"root\"");
  EXPECT_EQ(problem("root ::= secret"), "line 1, byte 10: there is no such rule");
  EXPECT_EQ(problem("root ::= \"a\"\nb := \"c\""), "line 2, byte 3: \"::=\" is missing");
  EXPECT_EQ(problem("root ::= \"a\"\n\n | \"b\""), "line 3, byte 2: the name of a rule is missing");
  EXPECT_EQ(problem("root ::= (\"a\""), "line 1, byte 10: this \"(\" has no \")\"");
  EXPECT_EQ(problem("root ::= \"a\")"), "line 1, byte 13: this is no part of a rule");
  EXPECT_EQ(problem("root ::= \"a"), "line 1, byte 10: this literal has no end");
  EXPECT_EQ(problem("root ::= [a"), "line 1, byte 10: this \"[\" has no \"]\"");
  EXPECT_EQ(problem("root ::= [a-"), "line 1, byte 13: the grammar ends here");
  EXPECT_EQ(problem("root ::= []"), "line 1, byte 10: no character is in this set");
  EXPECT_EQ(problem("root ::= [z-a]"), "line 1, byte 10: no character is in this set");
  EXPECT_EQ(problem(R"(root ::= "\q")"), "line 1, byte 11: this escape is unknown");
  EXPECT_EQ(problem(R"(root ::= "\u12")"), "line 1, byte 11: 4 hex digits must follow");
  EXPECT_EQ(problem(R"(root ::= "\x00")"), "line 1, byte 11: this is no character");
  EXPECT_EQ(problem(R"(root ::= "\uD800")"), "line 1, byte 11: this is no character");
  EXPECT_EQ(problem("root ::= *"), "line 1, byte 10: there is nothing to repeat");
  EXPECT_EQ(problem("root ::= \"\"*"), "line 1, byte 12: there is nothing to repeat");
  EXPECT_EQ(problem("root ::= \"a\"\nroot ::= \"b\""),
            "line 2, byte 1: this rule is there already");
  EXPECT_EQ(problem("root ::= <[7]>"), "line 1, byte 10: tokens cannot be named: write their text");
  EXPECT_EQ(problem("root ::= !<x>"), "line 1, byte 10: tokens cannot be named: write their text");
  EXPECT_EQ(problem("root ::= \"\xFF\""), "this is not UTF-8");
}

TEST(Gbnf, RepetitionsAreBounded) {
  EXPECT_EQ(problem("root ::= \"a\"{5,2}"), "line 1, byte 13: it cannot come 5 to 2 times");
  EXPECT_EQ(problem("root ::= \"a\"{1,100000}"),
            "line 1, byte 16: it repeats more than 2000 times");
  EXPECT_EQ(problem("root ::= \"a\"{99999999999999999999}"),
            "line 1, byte 14: it repeats more than 2000 times");
  EXPECT_EQ(problem("root ::= \"a\"{}"), "line 1, byte 14: a number is missing");
  EXPECT_EQ(problem("root ::= \"a\"{1"), "line 1, byte 15: \"}\" is missing");
  std::string many = "root ::=";
  for (int i = 0; i < 100; ++i) many += " \"a\"{2000}";
  EXPECT_THAT(problem(many), testing::HasSubstr("more than 65536 elements"));
  EXPECT_THAT(problem("root ::= \"" + std::string(100'000, 'a') + "\""),
              testing::HasSubstr("more than 65536 elements"));
  // What is repeated is written once, however often.
  EXPECT_THAT(parsed("root ::= (((\"abc\"{2000}){2000}){2000}){2000}").rules, SizeIs(5));
  EXPECT_THAT(parsed("root ::= \"abc\"{2}{2000}{1,2}").rules, testing::SizeIs(testing::Le(5U)));
}

TEST(Gbnf, EveryElementCountsOnce) {
  const auto with_literal = [](const std::string& before, std::size_t characters) {
    return "root ::= " + before + " \"" + std::string(characters, 'b') + "\"";
  };
  constexpr std::size_t kLeft = kGrammarElementsMax - 1;  // Beside the end of the rule.
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += " \"a\"{2000}";
  // Each is a rule of three elements and an end, and so many times its name.
  std::string literals;
  for (int i = 0; i < 10; ++i) literals += " \"aaa\"{2000}";
  // The last time takes three: nothing is behind it.
  const std::string open = "\"a\"{1,1001}";
  for (const auto& [before, elements] : {std::pair{std::string{}, 0},
                                         {ten, 20'000},
                                         {literals, 20'040},
                                         {open, 1 + 3999 + 1},
                                         {std::string{"\"a\"*"}, 4 + 1}}) {
    const std::size_t rest = kLeft - static_cast<std::size_t>(elements);
    EXPECT_TRUE(parse_gbnf(with_literal(before, rest))) << before;
    EXPECT_THAT(problem(with_literal(before, rest + 1)),
                testing::HasSubstr("more than 65536 elements"))
        << before;
  }
}

TEST(Gbnf, GroupsAreBounded) {
  const auto nested = [](std::size_t depth) {
    return "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
  };
  EXPECT_THAT(parsed(nested(64)).rules, SizeIs(65));
  EXPECT_EQ(problem(nested(65)), "line 1, byte 74: more than 64 groups are in each other");
  EXPECT_THAT(problem(std::string("root ::= ") + std::string(1'000'000, '(')),
              testing::HasSubstr("more than 64 groups"));
}

}  // namespace
}  // namespace seedance::text
