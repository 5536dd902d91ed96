#include "llama/schema_value.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace seedance::llama {
namespace {

namespace json = boost::json;

TEST(SchemaValue, FindsWhatAPointerNames) {
  const json::value root = json::parse(R"({"a":[{"b/~":1}],"":{"":2}})");
  EXPECT_EQ(find_place(root, "#")->value, &root);
  EXPECT_EQ(*find_place(root, "#/a/0/b~1~0")->value, 1);
  EXPECT_EQ(find_place(root, "#/a/0/b~1~0")->at, "#/a/0/b~1~0");
  EXPECT_EQ(*find_place(root, "#//")->value, 2);
  for (const char* none : {"#/b", "#/a/1", "#/a/00", "#/a/-", "#/a/0/b~1~0/x"}) {
    EXPECT_FALSE(find_place(root, none)) << none;
  }
}

TEST(SchemaValue, IsOfTheTypesOfSchemas) {
  EXPECT_TRUE(is_of(1, "integer") && is_of(1.0, "integer") && is_of(1, "number"));
  EXPECT_FALSE(is_of(1.5, "integer") || is_of(1, "string") || is_of(nullptr, "object"));
  EXPECT_TRUE(is_of(nullptr, "null") && is_of(true, "boolean") && is_of("a", "string"));
  EXPECT_TRUE(is_of(json::array{}, "array") && is_of(json::object{}, "object"));
}

TEST(SchemaValue, KnowsWhichNumbersStayWhatTheyAre) {
  for (const char* exact :
       {"9223372036854775807", "18446744073709551615", "0.5", "[1,{\"a\":2}]"}) {
    EXPECT_TRUE(is_exact(json::parse(exact))) << exact;
  }
  for (const char* inexact : {"123456789012345678901", "[{\"a\":1e300}]"}) {
    EXPECT_FALSE(is_exact(json::parse(inexact))) << inexact;
  }
}

TEST(SchemaValue, RoundsNumbersAndStaysNearWhatIsAllowed) {
  EXPECT_EQ(integer_at(2.5, Round::up), 3);
  EXPECT_EQ(integer_at(-2.5, Round::down), -3);
  EXPECT_EQ(integer_at(1e300, Round::up), kSchemaIntegerMax + 1);
  EXPECT_EQ(integer_at(-1e300, Round::up), -kSchemaIntegerMax - 1);
  EXPECT_EQ(integer_at(std::uint64_t{1} << 63U, Round::up), kSchemaIntegerMax + 1);
  EXPECT_EQ(integer_at(INT64_MIN, Round::down), -kSchemaIntegerMax - 1);
}

TEST(SchemaValue, NamesWhatIsNowhereElse) {
  EXPECT_EQ(unused_name("{}"), "q");
  EXPECT_EQ(unused_name("{\"qqaq\":1}"), "qqq");
  EXPECT_EQ(below("#/a", "b/~c"), "#/a/b~1~0c");
  EXPECT_EQ(below("#", "anyOf", 2), "#/anyOf/2");
}

}  // namespace
}  // namespace seedance::llama
