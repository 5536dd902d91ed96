#include "llama/schema_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <vector>

namespace seedance::llama {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

void expect_plain(std::string_view schema, std::string_view plain) {
  const auto result = plain_schema(schema);
  ASSERT_TRUE(result) << schema << ": " << result.error().detail;
  EXPECT_EQ(boost::json::parse(*result), boost::json::parse(plain)) << *result;
}

std::string fault(std::string_view schema) {
  const auto result = plain_schema(schema);
  EXPECT_FALSE(result) << schema << ": " << *result;
  return result ? "" : result.error().detail;
}

TEST(PlainSchema, LeavesOutWhatSaysNothingAboutAnAnswer) {
  expect_plain(R"({"$schema":"s","$id":"i","title":"t","description":"d","default":1,"examples":[1],
                   "deprecated":true,"readOnly":true,"x-mine":1,"$comment":"c","nullable":true,
                   "type":"array","items":true,"uniqueItems":false,"minLength":3,"minItems":0})",
               R"({"type":"array","items":{}})");
  expect_plain("{}", "{}");
  expect_plain(R"({"type":"object","minProperties":0,"additionalProperties":true})",
               R"({"type":"object","additionalProperties":true})");
}

TEST(PlainSchema, WritesTypesOut) {
  expect_plain(R"({"type":["string","null"],"maxLength":3})",
               R"({"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]})");
  expect_plain(R"({"properties":{"a":{}}})", R"({"type":"object","properties":{"a":{}}})");
  expect_plain(R"({"minItems":1})", R"({"type":"array","minItems":1})");
  expect_plain(R"({"format":"date"})", R"({"type":"string","format":"date"})");
  expect_plain(R"({"const":"a","type":"string"})", R"({"enum":["a"]})");
}

TEST(PlainSchema, BoundsOfIntegersAreInclusiveAndBoth) {
  expect_plain(R"({"type":"integer"})", R"({"type":"integer"})");
  expect_plain(R"({"type":"integer","minimum":2.5})",
               R"({"type":"integer","minimum":3,"maximum":9999999999999999})");
  expect_plain(R"({"type":"integer","minimum":1,"exclusiveMinimum":5,"exclusiveMaximum":9})",
               R"({"type":"integer","minimum":6,"maximum":8})");
  expect_plain(R"({"type":"integer","maximum":9223372036854775807,"minimum":-1e300})",
               R"({"type":"integer","minimum":-9999999999999999,"maximum":9999999999999999})");
}

TEST(PlainSchema, TuplesAreWhole) {
  expect_plain(R"({"type":"array","prefixItems":[{},{"type":"null"}],"items":false,"minItems":2})",
               R"({"type":"array","prefixItems":[{},{"type":"null"}]})");
  expect_plain(R"({"items":[{}],"additionalItems":false})",
               R"({"type":"array","prefixItems":[{}]})");
}

TEST(PlainSchema, ReferencesAreNumbered) {
  expect_plain(R"({"$ref":"#/$defs/a-b","$defs":{"a-b":{"properties":{"c":{"$ref":"#/$defs/a_b"},
                   "d":{"$ref":"#"}}},"a_b":{"type":"null"}}})",
               R"({"$ref":"#/q/0","q":{"0":{"type":"object","properties":{"c":{"$ref":"#/q/1"},
                   "d":{"$ref":"#/q/0"}}},"1":{"type":"null"}}})");
  expect_plain(R"({"items":{"$ref":"#/x~1y/0"},"x/y":[{"type":"null"}]})",
               R"({"type":"array","items":{"$ref":"#/q/0"},"q":{"0":{"type":"null"}}})");
}

TEST(PlainSchema, AllOfBecomesOneObject) {
  expect_plain(R"({"properties":{"a":{}},"allOf":[{"$ref":"#/$defs/b"},{"required":["a"]}],
                   "$defs":{"b":{"type":"object","properties":{"b":{}}}}})",
               R"({"$ref":"#/qq/0","qq":{"0":{"type":"object","properties":{"a":{},"b":{}},
                   "required":["a"]}}})");  // Of its words "required" has a q.
  expect_plain(R"({"description":"d","allOf":[{"type":"string"}]})", R"({"type":"string"})");
}

struct Fault {
  std::string_view schema;
  std::string_view at;
  std::string_view keyword;
};

void expect_named(const std::vector<Fault>& faults) {
  for (const Fault& each : faults) {
    EXPECT_THAT(fault(each.schema),
                StartsWith(fmt::format("at {}, \"{}\" ", each.at, each.keyword)))
        << each.schema;
  }
}

TEST(PlainSchema, NamesPlaceAndKeywordOfWhatIsUnknown) {
  expect_named({
      {R"({"type":"array","uniqueItems":true})", "#", "uniqueItems"},
      {R"({"properties":{"a/b":{"type":"integer","multipleOf":2}}})", "#/properties/a~1b",
       "multipleOf"},
      {R"({"not":{}})", "#", "not"},
      {R"({"if":{},"then":{}})", "#", "if"},
      {R"({"patternProperties":{}})", "#", "patternProperties"},
      {R"({"propertyNames":{}})", "#", "propertyNames"},
      {R"({"dependentRequired":{}})", "#", "dependentRequired"},
      {R"({"dependentSchemas":{}})", "#", "dependentSchemas"},
      {R"({"dependencies":{}})", "#", "dependencies"},
      {R"({"type":"object","minProperties":1})", "#", "minProperties"},
      {R"({"type":"object","maxProperties":1})", "#", "maxProperties"},
      {R"({"type":"object","unevaluatedProperties":false})", "#", "unevaluatedProperties"},
      {R"({"type":"array","unevaluatedItems":false})", "#", "unevaluatedItems"},
      {R"({"type":"array","contains":{}})", "#", "contains"},
      {R"({"$dynamicRef":"#a"})", "#", "$dynamicRef"},
      {R"({"items":{"$id":"x"}})", "#/items", "$id"},
  });
}

TEST(PlainSchema, NamesPlaceAndKeywordOfWhatIsNotKeptToSo) {
  expect_named({
      {R"({"type":"number","minimum":0})", "#", "minimum"},
      {R"({"type":["null","number"],"exclusiveMaximum":0})", "#", "exclusiveMaximum"},
      {R"({"maximum":0})", "#", "maximum"},
      {R"({"type":"integer","minimum":0,"exclusiveMinimum":true})", "#", "exclusiveMinimum"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "#", "type"},
      {R"({"type":"integer","minimum":1e17})", "#", "type"},
      {R"({"type":"what"})", "#", "type"},
      {R"({"type":[]})", "#", "type"},
      {R"({"type":[1]})", "#", "type"},
      {R"({"type":{}})", "#", "type"},
      {R"({"type":"string","format":"email"})", "#", "format"},
      {R"({"type":"string","format":"date","maxLength":1})", "#", "format"},
      {R"({"type":"string","pattern":"^a$","minLength":1})", "#", "pattern"},
      {R"({"type":"string","pattern":"^a$","format":"date"})", "#", "pattern"},
      {R"({"type":"string","pattern":"a"})", "#", "pattern"},
      {R"({"type":"string","pattern":1})", "#", "pattern"},
      {R"({"type":"string","maxLength":1,"minLength":2})", "#", "minLength"},
      {R"({"type":"string","minLength":-1})", "#", "minLength"},
      {R"({"type":"array","maxItems":2001})", "#", "maxItems"},
      {R"({"prefixItems":[{}],"items":{}})", "#", "items"},
      {R"({"prefixItems":[{}],"minItems":2})", "#", "prefixItems"},
      {R"({"prefixItems":[{}],"maxItems":0})", "#", "prefixItems"},
      {R"({"prefixItems":{}})", "#", "prefixItems"},
      {R"({"anyOf":[{}],"properties":{}})", "#", "anyOf"},
      {R"({"anyOf":[{}],"type":"object"})", "#", "anyOf"},
      {R"({"oneOf":[{}],"anyOf":[{}]})", "#", "anyOf"},
      {R"({"oneOf":[]})", "#", "oneOf"},
      {R"({"anyOf":[{},{"not":{}}]})", "#/anyOf/1", "not"},
      {R"({"allOf":[{"type":"string"},{}]})", "#/allOf/0", "allOf"},
      {R"({"allOf":[{"enum":[1]},{"enum":[1]}]})", "#/allOf/0", "allOf"},
      {R"({"allOf":[{"properties":{"a":{}}},{"properties":{"a":{}}}]})", "#/allOf/1/properties/a",
       "allOf"},
      {R"({"properties":{"a":{}},"additionalProperties":false,"allOf":[{}]})", "#", "allOf"},
      {R"({"allOf":[{"anyOf":[{}]},{}]})", "#/allOf/0", "allOf"},
      {R"({"allOf":[]})", "#", "allOf"},
      {R"({"type":"object","allOf":[{"$ref":"#"}]})", "#", "allOf"},
      {R"({"enum":[1,"a"],"type":"string"})", "#", "enum"},
      {R"({"enum":["abc"],"maxLength":2})", "#", "enum"},
      {R"({"const":1,"enum":[2]})", "#", "const"},
      {R"({"enum":[]})", "#", "enum"},
      {R"({"const":123456789012345678901})", "#", "const"},
      {R"({"required":["a"],"properties":{"b":{}}})", "#", "required"},
      {R"({"required":["a"]})", "#", "required"},
      {R"({"required":"a"})", "#", "required"},
      {R"({"properties":{"*":{}}})", "#", "properties"},
      {R"({"properties":{"a]":{}},"additionalProperties":{}})", "#", "additionalProperties"},
      {R"({"properties":[]})", "#", "properties"},
      {R"({"$ref":"#/nowhere"})", "#", "$ref"},
      {R"({"$ref":"#anchor"})", "#", "$ref"},
      {R"({"$ref":"https://example.com/"})", "#", "$ref"},
      {R"({"$ref":"#/a%25b"})", "#", "$ref"},
      {R"({"$ref":1})", "#", "$ref"},
      {R"({"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{}}})", "#", "$ref"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}})", "#/$defs/a", "$ref"},
  });
}

TEST(PlainSchema, SaysWhatToDoInstead) {
  EXPECT_EQ(fault(R"({"properties":{"a":{"type":"number","minimum":0}}})"),
            "at #/properties/a, \"minimum\" is kept to for integers only; leave it out, and check "
            "the answer for it");
  EXPECT_EQ(fault(R"({"anyOf":[{}],"properties":{}})"),
            "at #, \"anyOf\" cannot be kept to beside \"properties\"; write it into each of the "
            "alternatives");
  EXPECT_EQ(fault(R"({"required":["a"]})"),
            "at #, \"required\" names \"a\", which is not in \"properties\"; add it there");
}

TEST(PlainSchema, RefusesWhatIsNoSchema) {
  EXPECT_EQ(fault("{"), "it is no JSON, or too deep");
  EXPECT_THAT(fault("[]"), HasSubstr("at #, there is no schema"));
  EXPECT_THAT(fault(R"({"items":false})"), HasSubstr("at #/items, there is no schema"));
  EXPECT_THAT(fault(R"({"anyOf":[1]})"), HasSubstr("at #/anyOf/0, there is no schema"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"items":)";
  EXPECT_EQ(fault(deep), "it is no JSON, or too deep");
}

// What holds itself is read once for each place; what doubles with each step is cut off.
TEST(PlainSchema, ComesToAnEnd) {
  expect_plain(R"({"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"properties":{"b":{"allOf":[
                   {"$ref":"#/$defs/a"},{}]}}},{}]}}})",
               R"({"$ref":"#/q/0","q":{"0":{"type":"object","properties":{"b":{"$ref":"#/q/1"}}},
                   "1":{"type":"object","properties":{"b":{"$ref":"#/q/1"}}}}})");
  std::string doubling = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 40; ++i) {
    doubling += fmt::format(
        R"("{}":{{"allOf":[{{"$ref":"#/$defs/{}"}},{{"$ref":"#/$defs/{}"}}]}},)", i, i + 1, i + 1);
  }
  EXPECT_THAT(fault(doubling + R"("40":{}}})"), HasSubstr("too many schemas"));
}

}  // namespace
}  // namespace seedance::llama
