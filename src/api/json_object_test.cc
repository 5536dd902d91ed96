#include "api/json_object.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace seedance::api {
namespace {

TEST(ParseObject, BoundsTheDepth) {
  const auto nested = [](std::size_t depth) {
    return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(parse_object(nested(kJsonDepthMax)));
  const auto deeper = parse_object(nested(kJsonDepthMax + 1));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::invalid_request);
  EXPECT_EQ(deeper.error().message,
            "At byte 37 this is JSON more than 32 levels deep; at most 32 are taken.");
}

TEST(ParseObject, SaysWhereItIsNotJson) {
  const auto message = [](std::string_view text) { return parse_object(text).error().message; };
  EXPECT_EQ(message(R"({"a":1,})"), "This is not JSON: syntax error at byte 8 of 8.");
  EXPECT_EQ(message(R"({"a":x})"), "This is not JSON: syntax error at byte 6 of 7.");
  EXPECT_EQ(message(R"({'a':1})"), "This is not JSON: syntax error at byte 2 of 7.");
  EXPECT_EQ(message(R"({"a":1} x)"), "This is not JSON: extra data at byte 9 of 9.");
  EXPECT_EQ(message(R"({"a":"b)"), "This is not JSON: after 7 bytes it is not at its end.");
  EXPECT_EQ(message(""), "This is not JSON: after 0 bytes it is not at its end.");
}

TEST(ParseObject, TakesOneWholeObjectOfStrictJson) {
  EXPECT_TRUE(parse_object(" {} \n"));
  for (const std::string_view text :
       {"", "[]", "null", "{", "{}{}", "{} x", "{a:1}", "{'a':1}", "{\"a\":1,}", "// x\n{}",
        "{\"a\":NaN}", "{\"a\":01}", "{\"a\":\"\xC0\x80\"}", "{\"a\":\"\xED\xA0\x80\"}",
        "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(parse_object(text)) << text;
  }
}

// What was repeated; "none" where nothing was.
std::string repeated(std::string_view json) {
  const auto parsed = parse_object(json);
  if (!parsed) return parsed.error().message;
  return parsed->repeated.value_or("none");
}

TEST(ParseObject, FindsAKeyThatAnObjectHasTwice) {
  EXPECT_EQ(repeated(R"({"a":1,"b":2,"a":3})"), "a");
  EXPECT_EQ(repeated(R"({"a":1,"\u0061":3})"), "a") << "however it is written";
  EXPECT_EQ(repeated(R"({"a\n\u0062c":1,"x":0,"a\nbc":3})"), "a\nbc");
  EXPECT_EQ(repeated(R"({"":1,"":2})"), "");
  EXPECT_EQ(repeated(R"({"a":[{"b":1},{"b":1,"c":{},"b":2}]})"), "b");
  EXPECT_EQ(repeated(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})"), "none") << "each has one";
  EXPECT_EQ(repeated(R"({"ab":{"c":1},"a":{"bc":1},"b":1,"c":1})"), "none");
  EXPECT_EQ(repeated(R"({"a":{"x":1},"x":1,"a":2})"), "a") << "behind an object inside of it";
}

TEST(ParseObject, FindsAKeyAmongManyToo) {
  std::string many = R"({"k0":0)";
  for (int i = 1; i < 1000; ++i) many += fmt::format(R"(,"k{}":{})", i, i);
  EXPECT_EQ(repeated(many + "}"), "none");
  EXPECT_EQ(repeated(many + R"(,"k777":1})"), "k777");
}

TEST(ParseObject, MakesTheValueThatBoostMakes) {
  constexpr std::string_view kText =
      R"({"n":null,"t":true,"f":false,"i":-7,"u":18446744073709551615,"d":1.5e3,"s":"a\u00fc\n",)"
      R"("a":[1,[],{}],"o":{"k\u0020":"v"}})";
  const auto parsed = parse_object(kText);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(boost::json::value(parsed->object), boost::json::parse(kText));
}

}  // namespace
}  // namespace seedance::api
