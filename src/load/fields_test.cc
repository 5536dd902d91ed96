#include "load/fields.h"

#include <gtest/gtest.h>

#include <string>

namespace seedance::loadgen {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

TEST(Fields, AreNothingWhereTheyAreOfAnotherKind) {
  const json::value value = parse_json(
      R"({"text":"a","object":{},"count":3,"minus":-1,"half":0.5,"huge":18446744073709551615})",
      {});
  const json::object* object = object_in(value);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object_in(parse_json("[]", {})), nullptr);
  EXPECT_EQ(object_in(parse_json("{", {})), nullptr);
  EXPECT_NE(object_in(*object, "object"), nullptr);
  EXPECT_EQ(object_in(*object, "text"), nullptr);
  EXPECT_EQ(object_in(*object, "missing"), nullptr);
  EXPECT_EQ(text_in(*object, "text"), "a");
  EXPECT_EQ(text_in(*object, "count"), "");
  EXPECT_EQ(count_in(*object, "count"), 3U);
  for (const char* key : {"minus", "half", "huge", "text", "missing"}) {
    EXPECT_EQ(count_in(*object, key), std::nullopt) << key;
  }
  EXPECT_EQ(ms_in(*object, "count"), Duration{3ms});
  EXPECT_EQ(ms_in(*object, "half"), Duration{500us});
  for (const char* key : {"minus", "huge", "text", "missing"}) {
    EXPECT_EQ(ms_in(*object, key), std::nullopt) << key;
  }
}

TEST(Fields, ACodeIsAWordOrAnother) {
  const auto code = [](std::string_view text) {
    const json::value value = parse_json(text, {});
    return code_in(value.get_object(), "other");
  };
  EXPECT_EQ(code(R"({"code":"rate_limited"})"), "rate_limited");
  EXPECT_EQ(code(R"({"code":"two words"})"), "other");
  EXPECT_EQ(code(R"({"code":""})"), "other");
  EXPECT_EQ(code(R"({"code":7})"), "other");
  EXPECT_EQ(code(R"({"code":")" + std::string(65, 'a') + R"("})"), "other");
}

TEST(Fields, ALineHasNoControlsAndAnEnd) {
  EXPECT_EQ(one_line("a\nb\x1B\x7F"), "a b  ");
  EXPECT_EQ(one_line(std::string(300, 'x')), std::string(200, 'x'));
}

}  // namespace
}  // namespace seedance::loadgen
