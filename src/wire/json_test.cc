#include "wire/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace seedance::wire {
namespace {

using namespace std::string_literals;

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  std::string spill = "left over";
  EXPECT_EQ(out, "\"" + std::string{json_text(text, spill)} + "\"");
  return out;
}

template <typename T>
std::string written(T value) {
  std::string out;
  JsonWriter{out}.value(value);
  return out;
}

TEST(JsonString, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(json_string(""), R"("")");
  EXPECT_EQ(json_string("plain text, long enough for words"),
            "\"plain text, long enough for words\"");
  EXPECT_EQ(json_string("\"\\\n\r\t\b\f"), R"("\"\\\n\r\t\b\f")");
  EXPECT_EQ(json_string("\0\x01\x1F\x7F"s), "\"\\u0000\\u0001\\u001f\x7F\"");
  EXPECT_EQ(json_string("/"), R"("/")");
}

TEST(JsonString, FindsEveryByteAtEveryPlace) {
  for (int value = 0; value < 128; ++value) {
    const char byte = static_cast<char>(value);
    const std::string alone = json_string(std::string(1, byte));
    const std::string inner = alone.substr(1, alone.size() - 2);
    for (std::size_t before = 0; before < 18; ++before) {
      EXPECT_EQ(json_string(std::string(before, 'x') + byte + "yyyyyyyy"),
                "\"" + std::string(before, 'x') + inner + "yyyyyyyy\"")
          << value << " " << before;
      EXPECT_EQ(json_string(std::string(before, 'x') + byte),
                "\"" + std::string(before, 'x') + inner + "\"")
          << value << " at the end, behind " << before;
    }
  }
}

TEST(JsonString, IsAlwaysUtf8) {
  EXPECT_EQ(json_string("grüße 🙂 \u2028"), "\"grüße 🙂 \u2028\"");
  EXPECT_EQ(json_string("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(json_string("cut \xE2\x82"), "\"cut \uFFFD\"");
  EXPECT_EQ(json_string("cut \xE2\x82\n€"), "\"cut \uFFFD\\n€\"");
}

TEST(JsonWriter, PlacesCommas) {
  std::string out;
  JsonWriter json{out};
  json.begin_object()
      .field("type", "INFER_CHUNK")
      .field("seq", 7U)
      .key("ids")
      .begin_array()
      .value(1)
      .value(-2)
      .begin_object()
      .end_object()
      .begin_array()
      .end_array()
      .null()
      .end_array()
      .field("final", true)
      .field("text", std::string{"x"})
      .key("usage")
      .raw(R"({"n":1})")
      .end_object();
  EXPECT_EQ(out, R"({"type":"INFER_CHUNK","seq":7,"ids":[1,-2,{},[],null],"final":true,"text":"x",)"
                 R"("usage":{"n":1}})");
}

TEST(JsonWriter, GoesOnInAnObject) {
  std::string out = R"({"type":"x")";
  JsonWriter::within(out).field("n", 1).end_object();
  EXPECT_EQ(out, R"({"type":"x","n":1})");
}

TEST(JsonWriter, WritesNumbersThatReadBack) {
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(0.1F), "0.1");
  EXPECT_EQ(written(-1.5e300), "-1.5e+300");
  EXPECT_EQ(written(3.0), "3");
  EXPECT_EQ(std::stod(written(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(std::numeric_limits<float>::infinity()), "null");
}

}  // namespace
}  // namespace seedance::wire
