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

TEST(EventIds, SaysWhatIsWantedNext) {
  const EventIds ids{kStream, {7}};
  std::string out;
  ids.append({12}, out);
  EXPECT_EQ(out, "id: " + to_text(EventId{kStream, {7}, {12}}) + "\n");
}

TEST(SseEvents, EscapesTheModelsName) {
  core::Accepted accepted = TestStream{}.accepted();
  accepted.model = "a\"b";
  const SseEvents named{AnswerHead{accepted}, {.id_prefix = "x-", .object = "o"}};
  std::string out;
  named.begin({3}, out);
  named.end(out);
  const auto all = events(out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, (EventId{kStream, {1}, {3}}));
  EXPECT_EQ(boost::json::parse(all[0].data).at("model"), "a\"b");
}

TEST(RenderEvents, GoesOnUntilSomethingIsAppended) {
  TestStream stream;
  for (int i = 0; i < 5; ++i) stream.add("abc");
  stream::Cursor cursor;
  std::string out;
  const auto append_third = [&](Offset from, Offset) {
    if (from == Offset{2}) out += "x";
  };
  const Rendered rendered =
      render_events(stream.log, cursor, out, BodyFraming::until_close, 0, 0, append_third, [] {});
  EXPECT_EQ(out, "x");
  EXPECT_EQ(cursor.next, Offset{3});
  EXPECT_EQ(rendered.tokens, 3U);
  EXPECT_FALSE(rendered.done);
}

}  // namespace
}  // namespace seedance::api
