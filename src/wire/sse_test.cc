#include "wire/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::wire {
namespace {

std::vector<SseEvent> parse(const std::vector<std::string>& pieces) {
  SseParser parser;
  std::vector<SseEvent> events;
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(parser.on_input(piece));
    while (auto next = parser.next()) events.push_back(std::move(*next));
  }
  return events;
}

TEST(SseComment, IsOneLineWhateverIsInIt) {
  std::string out;
  append_sse_comment(out, "a\ndata: b");
  EXPECT_EQ(out, ": a data: b\n\n");
}

TEST(SseParser, ReadsEvents) {
  EXPECT_EQ(parse({"id: 1\nevent: e\ndata: one\ndata: two\n\n: note\n\ndata: three\n\n"}),
            (std::vector<SseEvent>{{"1", "e", "one\ntwo"}, {"1", "", "three"}}));
}

TEST(SseParser, GivesTheSameHoweverTheTextIsCut) {
  const std::string text =
      "\xEF\xBB\xBF"
      "data:a\r\ndata: b\r\n\r\nevent: x\rid: 5\rdata\r\r"
      "data:  two\n\nid: 6\n\nretry: 9\nother: z\n:\ndata: c\ndata\n\ndata: unfinished\n";
  const std::vector<SseEvent> expected{
      {"", "", "a\nb"}, {"5", "x", ""}, {"5", "", " two"}, {"6", "", "c\n"}};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ASSERT_EQ(parse({text.substr(0, cut), text.substr(cut)}), expected) << cut;
  }
}

TEST(SseParser, BoundsAnEvent) {
  SseParser parser{10};
  EXPECT_TRUE(parser.on_input("data: 1234\n\ndata: 5678\n"));
  EXPECT_TRUE(parser.on_input("data: "));
  EXPECT_FALSE(parser.on_input("9"));
  EXPECT_FALSE(parser.on_input("\n\n"));
  EXPECT_EQ(parser.next()->data, "1234");
  EXPECT_FALSE(parser.next());
}

}  // namespace
}  // namespace seedance::wire
