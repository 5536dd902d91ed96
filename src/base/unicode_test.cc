#include "base/unicode.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

std::string repaired(std::string_view text) {
  std::string out;
  append_valid_utf8(out, text);
  return out;
}

TEST(Utf8, KnowsValidText) {
  for (const char* text : {"", "plain", "h\xC3\xA9", "\xE4\xBD\xA0\xE5\xA5\xBD", "\xF0\x9F\x91\x8B",
                           "\xEF\xBF\xBD", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(repaired(text), text);
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndTooLarge) {
  for (const char* text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5", "\xFF", "\xC3", "a\xE4\xBD"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Utf8, FindsTheUnfinishedTailOfEveryCut) {
  const std::string text = "a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x91\x8B";
  const std::size_t expected[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(incomplete_utf8_tail(std::string_view{text}.substr(0, cut)), expected[cut]) << cut;
  }
}

TEST(Utf8, AWrongTailIsNotUnfinished) {
  EXPECT_EQ(incomplete_utf8_tail("\xFF"), 0U);
  EXPECT_EQ(incomplete_utf8_tail("a\x80\x80"), 0U);
  EXPECT_EQ(incomplete_utf8_tail("\xED\xA0"), 0U);
}

// The examples of Unicode 15, table 3-8 and 3-11.
TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r{kReplacement};
  EXPECT_EQ(repaired("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_EQ(repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(repaired("\xE4\xBD"), r);
}

TEST(Utf8Validator, AnswersTheSameForEveryCut) {
  const std::string text = "h\xC3\xA9 \xE4\xBD\xA0 \xF0\x9F\x91\x8B!";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Utf8Validator validator;
    EXPECT_TRUE(validator.feed(std::string_view{text}.substr(0, cut)));
    EXPECT_TRUE(validator.feed(std::string_view{text}.substr(cut)));
    EXPECT_TRUE(validator.complete());
  }
}

TEST(Utf8Validator, FailsAtTheFirstWrongByte) {
  Utf8Validator validator;
  EXPECT_TRUE(validator.feed("\xE0"));
  EXPECT_FALSE(validator.feed("\x80"));
  EXPECT_FALSE(validator.feed("a"));
}

}  // namespace
}  // namespace seedance
