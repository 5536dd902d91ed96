#include "api/sse_events.h"

#include <gtest/gtest.h>

#include "api/view_fixture.h"

namespace seedance::api {
namespace {

TEST(BodyPiece, IsOneChunkOfTheBody) {
  for (const std::size_t size : {1UL, 15UL, 16UL, 300UL, 70'000UL}) {
    std::string out = "before";
    BodyPiece piece{out, BodyFraming::chunked};
    out.append(size, 'x');
    piece.close();
    std::string expected = "before";
    wire::append_chunk(expected, std::string(size, 'x'));
    EXPECT_EQ(out, expected);
  }
}

// An empty chunk would end the body.
TEST(BodyPiece, LeavesNothingOfNothing) {
  std::string out = "before";
  BodyPiece{out, BodyFraming::chunked}.close();
  EXPECT_EQ(out, "before");
}

TEST(BodyPiece, IsBareUntilClose) {
  std::string out;
  BodyPiece piece{out, BodyFraming::until_close};
  out += "abc";
  piece.close();
  EXPECT_EQ(out, "abc");
}

TEST(SseEvents, EscapesTheModelsName) {
  core::Accepted accepted = TestStream{}.accepted();
  accepted.model = "a\"b";
  const SseEvents named{AnswerHead{accepted}, {.id_prefix = "x-", .object = "o"}, {}};
  std::string out;
  named.begin(out);
  named.end(out);
  const auto all = events(out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(boost::json::parse(all[0]).at("model"), "a\"b");
}

TEST(SseEvents, GoesOnUntilSomethingIsAppended) {
  TestStream stream;
  for (int i = 0; i < 5; ++i) stream.add("abc");
  const SseEvents shape{AnswerHead{stream.accepted()}, {}, BodyFraming::until_close};
  stream::Cursor cursor;
  std::string out;
  const auto append_third = [&](Offset from, Offset) {
    if (from == Offset{2}) out += "x";
  };
  shape.render(stream.log, cursor, out, 0, 0, append_third, [] {});
  EXPECT_EQ(out, "x");
  EXPECT_EQ(cursor.next, Offset{3});
}

}  // namespace
}  // namespace seedance::api
