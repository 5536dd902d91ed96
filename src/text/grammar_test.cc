#include "text/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace seedance::text {
namespace {

std::string problem(std::string_view text) {
  const auto result = Grammar::parse(text);
  EXPECT_FALSE(result) << text;
  return result ? "" : result.error().detail;
}

TEST(Grammar, RefusesRulesThatMayBeginWithThemselves) {
  EXPECT_EQ(problem("root ::= \"x\" | a\na ::= a \"b\" | \"c\""),
            "line 2, byte 1: this may begin with itself for ever");
  EXPECT_EQ(problem("root ::= a\na ::= b\nb ::= c \"x\"\nc ::= a | \"y\""),
            "line 2, byte 1: this may begin with itself for ever");
  // Behind rules that may be nothing, which llama.cpp does not find.
  EXPECT_EQ(problem("root ::= a\na ::= n a \"x\" | \"y\"\nn ::= m m\nm ::= \"z\"?"),
            "line 2, byte 1: this may begin with itself for ever");
}

TEST(Grammar, TakesWhatOnlySeemsToBeginWithItself) {
  EXPECT_TRUE(Grammar::parse("root ::= ws* \"a\" ws*\nws ::= [ \\t]*"));
  EXPECT_TRUE(Grammar::parse("root ::= \"(\" root \")\" | \"x\""));
  EXPECT_TRUE(Grammar::parse("root ::= \"a\" root | "));
  EXPECT_TRUE(Grammar::parse("root ::= ((\"a\"?)*)+"));
}

TEST(Grammar, TakesTimeInProportionToItsText) {
  std::string chain = "root ::= a0\n";
  for (int i = 0; i < 20'000; ++i) {
    chain += "a" + std::to_string(i) + "::=a" + std::to_string(i + 1) + "\n";
  }
  EXPECT_TRUE(Grammar::parse(chain + "a20000 ::= "));
  EXPECT_EQ(problem(chain + "a20000 ::= a0 \"x\""),
            "line 2, byte 1: this may begin with itself for ever");
}

TEST(Grammar, CharactersThatNoRuleTellsApartHaveOneClass) {
  const auto grammar = Grammar::parse("root ::= [a-m] | [k-z] | [^\\x00-\\x7F]");
  ASSERT_TRUE(grammar);
  EXPECT_EQ(grammar->class_of('a'), grammar->class_of('j'));
  EXPECT_NE(grammar->class_of('j'), grammar->class_of('k'));
  EXPECT_EQ(grammar->class_of('k'), grammar->class_of('m'));
  EXPECT_NE(grammar->class_of('m'), grammar->class_of('n'));
  EXPECT_EQ(grammar->class_of(0xE9), grammar->class_of(0x4E2D));
  EXPECT_TRUE(grammar->allows(2, 0xE9));
  EXPECT_FALSE(grammar->allows(2, 0xD800));
  EXPECT_TRUE(grammar->allows_some(0, 0, 'a'));
  EXPECT_FALSE(grammar->allows_some(0, 'n', 0x10FFFF));
}

}  // namespace
}  // namespace seedance::text
