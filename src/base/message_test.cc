#include "base/message.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

std::string two_messages() {
  std::string out;
  {
    MessageWriter writer{out};
    writer.put(std::uint8_t{7});
    writer.put(-5);
    writer.put(1.5F);
    writer.put(0.1);
    writer.put("text");
  }
  MessageWriter{out}.put(std::uint64_t{1} << 40);
  return out;
}

void expect_two_messages(MessageReader& reader, int& seen) {
  for (;;) {
    const auto body = reader.next();
    ASSERT_TRUE(body);
    if (!*body) return;
    FieldReader fields{**body};
    if (++seen == 1) {
      EXPECT_EQ(fields.get<std::uint8_t>(), 7);
      EXPECT_EQ(fields.get<int>(), -5);
      EXPECT_EQ(fields.get_float(), 1.5F);
      EXPECT_EQ(fields.get_double(), 0.1);
      EXPECT_EQ(fields.get_text(), "text");
    } else {
      EXPECT_EQ(fields.get<std::uint64_t>(), std::uint64_t{1} << 40);
    }
    EXPECT_TRUE(fields.at_end());
  }
}

TEST(Message, ReadsBackAtEveryCut) {
  const std::string stream = two_messages();
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    MessageReader reader;
    int seen = 0;
    reader.feed(as_bytes(std::string_view{stream}.substr(0, cut)));
    expect_two_messages(reader, seen);
    reader.feed(as_bytes(std::string_view{stream}.substr(cut)));
    expect_two_messages(reader, seen);
    EXPECT_EQ(seen, 2) << cut;
  }
}

TEST(Message, RefusesASizeOverTheLimitForGood) {
  MessageReader reader;
  reader.feed(as_bytes("\xFF\xFF\xFF\xFF"));
  for (int i = 0; i < 2; ++i) {
    const auto body = reader.next();
    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().code, Errc::corrupt);
  }
}

TEST(Message, CarriesAProblem) {
  const Problem problem{.code = ErrorCode::context_length_exceeded,
                        .message = "too long",
                        .param = "prompt",
                        .numbers = {{"prompt_tokens", 9}, {"context_tokens", 8}},
                        .retry_after_ms = 5};
  std::string out;
  {
    MessageWriter writer{out};
    put_problem(writer, problem);
  }
  FieldReader fields{as_bytes(out).subspan(4)};
  EXPECT_EQ(get_problem(fields), problem);
  EXPECT_TRUE(fields.at_end());
}

TEST(FieldReader, FailsForGoodBeyondTheEnd) {
  FieldReader fields{as_bytes("\x01")};
  EXPECT_EQ(fields.get<std::uint32_t>(), 0U);
  EXPECT_FALSE(fields.ok());
  EXPECT_EQ(fields.get<std::uint8_t>(), 0);
  EXPECT_FALSE(fields.ok());
}

TEST(FieldReader, BelievesNoCountThatTheBodyCannotHold) {
  std::string out;
  MessageWriter{out}.put(std::uint32_t{1'000'000});
  FieldReader fields{as_bytes(out).subspan(4)};
  EXPECT_EQ(fields.get_count(4), 0U);
  EXPECT_FALSE(fields.ok());
}

TEST(FieldReader, AFlagIsZeroOrOne) {
  const std::string bytes{"\0\1\2\1", 4};
  FieldReader in{as_bytes(bytes)};
  EXPECT_FALSE(in.get_flag());
  EXPECT_TRUE(in.get_flag());
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.get_flag());
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(in.get_flag());
}

}  // namespace
}  // namespace seedance
