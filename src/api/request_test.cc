#include "api/request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

namespace seedance::api {
namespace {

constexpr std::array kRules{
    FieldRule{.name = "read"},
    FieldRule{.name = "ignored", .use = FieldUse::ignored},
    FieldRule{.name = "fixed",
              .use = FieldUse::fixed,
              .values = R"([1,"one",{"a":[]}])",
              .reason = "must be one"},
    FieldRule{.name = "never", .use = FieldUse::fixed, .reason = "is not there"},
};

std::string check(std::string_view json) {
  const auto request = parse_object(json).value();
  Fields fields{request.object, "outer."};
  fields.check(kRules);
  return fields.ok() ? "" : fields.problem()->message;
}

TEST(Fields, CheckTakesWhatTheTableAllows) {
  EXPECT_EQ(check(R"({})"), "");
  EXPECT_EQ(check(R"({"read":1,"ignored":{},"fixed":1})"), "");
  EXPECT_EQ(check(R"({"fixed":"one"})"), "");
  EXPECT_EQ(check(R"({"fixed":{"a":[]}})"), "");
  EXPECT_EQ(check(R"({"read":null,"ignored":null,"fixed":null,"never":null})"), "");
}

TEST(Fields, CheckNamesWhatItRefuses) {
  EXPECT_EQ(check(R"({"fixed":2})"), "\"outer.fixed\" must be one.");
  EXPECT_EQ(check(R"({"fixed":{"a":[1]}})"), "\"outer.fixed\" must be one.");
  EXPECT_EQ(check(R"({"never":false})"), "\"outer.never\" is not there.");
  EXPECT_EQ(check(R"({"other":null})"), "\"outer.other\" is unknown.");
}

TEST(Fields, CheckQuotesABoundedPartOfAName) {
  const std::string name(10'000, 'x');
  EXPECT_LT(check(fmt::format(R"({{"{}":1}})", name)).size(), 100U);
}

TEST(Fields, KeepsTheFirstProblem) {
  const auto object = parse_object(R"({"a":"x","b":"y"})").value();
  Fields fields{object};
  EXPECT_EQ(fields.flag("a"), std::nullopt);
  EXPECT_EQ(fields.integer("b", 0, 9), std::nullopt);
  EXPECT_EQ(fields.problem()->param, "a");
}

TEST(Fields, TextIsBounded) {
  const auto object = parse_object(R"({"a":"12345"})").value();
  Fields fields{object};
  EXPECT_EQ(fields.text("a", 5), "12345");
  EXPECT_EQ(fields.text("a", 4), std::nullopt);
  EXPECT_EQ(fields.problem()->message, "\"a\" must have at most 4 bytes, not 5.");
}

TEST(Fields, RefuseAKeyThatARequestHasTwice) {
  const auto request = parse_object(R"({"a":1,"b":{"c":1,"c":1}})").value();
  const Fields fields{request};
  ASSERT_FALSE(fields.ok());
  EXPECT_EQ(fields.problem()->code, ErrorCode::invalid_request);
  EXPECT_EQ(fields.problem()->message, "\"c\" is given more than once.");
  EXPECT_EQ(fields.problem()->param, "c");
}

}  // namespace
}  // namespace seedance::api
