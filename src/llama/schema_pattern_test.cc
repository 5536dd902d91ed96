#include "llama/schema_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::llama {
namespace {

using testing::HasSubstr;

std::string plain(std::string_view pattern) {
  const auto result = json_pattern(pattern);
  EXPECT_TRUE(result) << pattern << ": " << result.error().detail;
  return result ? *result : "";
}

std::string fault(std::string_view pattern) {
  const auto result = json_pattern(pattern);
  EXPECT_FALSE(result) << pattern << ": " << *result;
  return result ? "" : result.error().detail;
}

TEST(JsonPattern, EachCharacterIsASet) {
  EXPECT_EQ(plain("^ab*(c|d)?$"), "^[a][b]*([c]|[d])?$");
  EXPECT_EQ(plain("^a\\.?[0-9]{2,3}x{2,}$"), R"(^[a][\U0000002E]?[0-9]{2,3}[x]{2,}$)");
  EXPECT_EQ(plain("^(?:a+?)$"), "^([a]+)$");
  EXPECT_EQ(plain("^\\x41\\u00e9$"), R"(^[A][\U000000E9]$)");
  EXPECT_EQ(plain("^\xC3\xA9$"), R"(^[\U000000E9]$)");
  EXPECT_EQ(plain("^\\d\\w$"), R"(^[0-9][0-9A-Z\U0000005Fa-z]$)");
  EXPECT_EQ(plain("^[b-da-c-]$"), R"(^[\U0000002Da-d]$)");
  EXPECT_EQ(plain("^$"), "^$");
}

TEST(JsonPattern, WhatJsonEscapesIsEscaped) {
  EXPECT_EQ(plain("^\"$"), R"(^([\U0000005C][\U00000022])$)");
  EXPECT_EQ(plain("^\n$"), R"(^([\U0000005C][n])$)");
  EXPECT_EQ(plain("^\\\\$"), R"(^([\U0000005C][\U0000005C])$)");
  EXPECT_EQ(plain("^[a\"]$"), R"(^([a]|[\U0000005C][\U00000022])$)");
  EXPECT_THAT(plain("^.$"), HasSubstr(R"([\U00000020-\U00000021\U00000023-\U0000005B)"));
}

TEST(JsonPattern, SaysWhatItCannotKeepTo) {
  EXPECT_EQ(fault("a$"), "does not begin with ^");
  EXPECT_EQ(fault("^a"), "does not end with $");
  EXPECT_EQ(fault("^a\\$"), "does not end with $");
  EXPECT_EQ(fault("^a$|b"), "goes on after $");
  EXPECT_EQ(fault("^(?=a)b$"), "looks ahead or behind, or names a group");
  EXPECT_EQ(fault("^(a"), "has a group without an end");
  EXPECT_EQ(fault("^(a$"), "has a $ before its end");
  EXPECT_EQ(fault("^[a"), "has a set without an end");
  EXPECT_EQ(fault("^[]$"), "has a set of which no character can be written");
  EXPECT_EQ(fault("^\\x00$"), "has a set of which no character can be written");
  EXPECT_EQ(fault("^[z-a]$"), "has a range in a set that is none");
  EXPECT_EQ(fault("^a**$"), "repeats a repetition; put it into a group");
  for (const char* counts : {"^a{5,2}$", "^a{,2}$", "^a{x}$", "^a{2001}$", "^a{2$"}) {
    EXPECT_EQ(fault(counts), "has a count that is none, or above 2000");
  }
  for (const char* escape : {"^\\b$", "^\\1$", "^\\p{L}$", "^\\", "^[\\"}) {
    EXPECT_EQ(fault(escape), "has an escape that cannot be kept to");
  }
  EXPECT_EQ(fault("^\\u12$"), "has an escape without its hex digits");
  EXPECT_EQ(fault("^\\ud800$"), "has half a character as an escape");
  EXPECT_THAT(fault("^*$"), HasSubstr("\"*\""));
  EXPECT_THAT(fault("^a)$"), HasSubstr("does not end"));
  EXPECT_EQ(fault("^\xFF$"), "is not UTF-8");
}

TEST(JsonPattern, IsBounded) {
  const std::string deep(kPatternDepthMax + 1, '(');
  EXPECT_THAT(fault("^" + deep), HasSubstr("groups in each other"));
  EXPECT_EQ(fault("^" + std::string(kPatternBytesMax, '.') + "$"), "is too long");
}

}  // namespace
}  // namespace seedance::llama
