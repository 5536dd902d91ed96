#include "text/grammar_matcher.h"

#include <gtest/gtest.h>

#include <string>

namespace seedance::text {
namespace {

enum class Fit { no, begins, whole };

GrammarMatcher matcher_of(std::string_view gbnf) {
  auto grammar = Grammar::parse(gbnf);
  EXPECT_TRUE(grammar) << (grammar ? "" : grammar.error().detail);
  return GrammarMatcher{*std::move(grammar)};
}

Fit fit(GrammarMatcher& matcher, std::string_view text) {
  auto state = matcher.start();
  for (const char byte : text) state = matcher.next(state, static_cast<unsigned char>(byte));
  if (matcher.may_end(state)) return Fit::whole;
  return GrammarMatcher::alive(state) ? Fit::begins : Fit::no;
}

Fit fit(std::string_view gbnf, std::string_view text) {
  GrammarMatcher matcher = matcher_of(gbnf);
  return fit(matcher, text);
}

TEST(GrammarMatcher, FollowsAlternativesAndReferences) {
  constexpr std::string_view kGrammar = "root ::= \"a\" b | \"ac\"\nb ::= \"b\" [0-9]";
  EXPECT_EQ(fit(kGrammar, ""), Fit::begins);
  EXPECT_EQ(fit(kGrammar, "a"), Fit::begins);
  EXPECT_EQ(fit(kGrammar, "ab7"), Fit::whole);
  EXPECT_EQ(fit(kGrammar, "ac"), Fit::whole);
  EXPECT_EQ(fit(kGrammar, "acb"), Fit::no);
  EXPECT_EQ(fit(kGrammar, "b"), Fit::no);
}

TEST(GrammarMatcher, CountsRepetitions) {
  GrammarMatcher matcher = matcher_of("root ::= \"ab\"{2,4} \"x\"{0} [c]? \"d\"{2,}");
  const auto text = [](int count, std::string_view end) {
    std::string result;
    for (int i = 0; i < count; ++i) result += "ab";
    return result + std::string{end};
  };
  EXPECT_EQ(fit(matcher, text(1, "dd")), Fit::no);
  for (int count = 2; count <= 4; ++count) {
    EXPECT_EQ(fit(matcher, text(count, "d")), Fit::begins);
    EXPECT_EQ(fit(matcher, text(count, "dd")), Fit::whole);
    EXPECT_EQ(fit(matcher, text(count, "cdddddd")), Fit::whole);
    EXPECT_EQ(fit(matcher, text(count, "xdd")), Fit::no);
  }
  EXPECT_EQ(fit(matcher, text(5, "")), Fit::no);
}

TEST(GrammarMatcher, FollowsWhatIsInItself) {
  GrammarMatcher matcher = matcher_of("root ::= \"(\" root \")\" | \"x\"");
  EXPECT_EQ(fit(matcher, "x"), Fit::whole);
  EXPECT_EQ(fit(matcher, std::string(5000, '(') + "x" + std::string(5000, ')')), Fit::whole);
  EXPECT_EQ(fit(matcher, std::string(50, '(') + "x" + std::string(51, ')')), Fit::no);
  EXPECT_FALSE(matcher.exhausted());
}

TEST(GrammarMatcher, WhatMayBeNothingOfNothingEnds) {
  GrammarMatcher matcher = matcher_of("root ::= ((\"a\"?)*)+ ws*\nws ::= \" \"*");
  EXPECT_EQ(fit(matcher, ""), Fit::whole);
  EXPECT_EQ(fit(matcher, "aaa  "), Fit::whole);
  EXPECT_EQ(fit(matcher, " a"), Fit::no);
}

TEST(GrammarMatcher, TakesCharactersByTheirBytes) {
  GrammarMatcher matcher = matcher_of("root ::= [\u00e0-\u00ef\u4e2d\U0001F331]+");
  EXPECT_EQ(fit(matcher, "\u00e9\u4e2d\U0001F331"), Fit::whole);
  EXPECT_EQ(fit(matcher, "\xC3"), Fit::begins);
  EXPECT_EQ(fit(matcher, "\xC2"), Fit::no);  // No character that begins so is in the set.
  EXPECT_EQ(fit(matcher, "\xE4\xB8"), Fit::begins);
  EXPECT_EQ(fit(matcher, "\xE4\xB9"), Fit::no);
  EXPECT_EQ(fit(matcher, "\xF0\x9F\x8C"), Fit::begins);
  EXPECT_EQ(fit(matcher, "\xC3("), Fit::no);
}

TEST(GrammarMatcher, TakesNoBytesThatAreNoText) {
  GrammarMatcher matcher = matcher_of("root ::= .*");
  EXPECT_EQ(fit(matcher, "\x01 \u07ff\uffff\U0010FFFF"), Fit::whole);
  for (const std::string_view bytes : {"\x80", "\xC0", "\xC1\x81", "\xE0\x9F", "\xED\xA0",
                                       "\xF0\x8F", "\xF4\x90", "\xF5", "\xFF"}) {
    EXPECT_EQ(fit(matcher, bytes), Fit::no) << bytes.size();
  }
  EXPECT_EQ(fit(matcher, std::string_view{"a\0b", 3}), Fit::no);
}

// Each of these takes llama.cpp's matching time or memory without bound.
TEST(GrammarMatcher, GivesUpWhereTheWaysAreTooMany) {
  // Twice as many places with every character.
  GrammarMatcher ways = matcher_of("root ::= \"x\" root \"a\" | \"x\" root \"b\" | \"y\"");
  EXPECT_EQ(fit(ways, std::string(100, 'x')), Fit::no);
  EXPECT_TRUE(ways.exhausted());

  // Twice as many places with every rule, at once.
  std::string rules = "root ::= a0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "a" + std::to_string(i + 1);
    rules += "a" + std::to_string(i) + " ::= " + next + " \"x\" | " + next + " \"y\"\n";
  }
  const GrammarMatcher deep = matcher_of(rules + "a40 ::= \"z\"");
  EXPECT_TRUE(deep.exhausted());
  EXPECT_FALSE(GrammarMatcher::alive(deep.start()));
  EXPECT_FALSE(deep.may_end(deep.start()));
}

// As many tokens of a large vocabulary end inside a character.
TEST(GrammarMatcher, PartsOfCharactersThatAreKnownCostNothing) {
  GrammarMatcher matcher = matcher_of("root ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" [nt])* \"\\\"\"");
  const auto state = matcher.next(matcher.start(), '"');
  for (int i = 0; i < 1'000'000; ++i) {
    const auto begun = matcher.next(state, static_cast<unsigned char>(0xE1 + i % 12));
    ASSERT_TRUE(GrammarMatcher::alive(begun));
  }
  EXPECT_FALSE(matcher.exhausted());
}

TEST(GrammarMatcher, PartsOfCharactersAreNoWaysHoweverManyPlacesThereAre) {
  GrammarMatcher matcher = matcher_of("root ::= [^a]{200}");
  auto state = matcher.start();
  for (int place = 0; place < 199; ++place) {
    for (int begin = 0; begin < 768; ++begin) {
      auto begun = matcher.next(state, static_cast<unsigned char>(0xE1 + begin / 64));
      begun = matcher.next(begun, static_cast<unsigned char>(0x80 + begin % 64));
      ASSERT_TRUE(GrammarMatcher::alive(begun)) << place;
    }
    matcher.renew();
    state = matcher.next(state, 'b');
  }
  EXPECT_FALSE(matcher.exhausted());
}

TEST(GrammarMatcher, WhatIsKnownCostsNothing) {
  GrammarMatcher matcher = matcher_of("root ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" [nt])* \"\\\"\"");
  auto state = matcher.next(matcher.start(), '"');
  for (int i = 0; i < 1'000'000; ++i) state = matcher.next(state, i % 2 == 0 ? 'a' : 'z');
  EXPECT_FALSE(matcher.exhausted());
  EXPECT_TRUE(matcher.may_end(matcher.next(state, '"')));
}

}  // namespace
}  // namespace seedance::text
