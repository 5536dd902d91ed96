#include "api/native_sse.h"

#include <gtest/gtest.h>

#include "api/view_fixture.h"
#include "base/random.h"

namespace seedance::api {
namespace {

constexpr std::size_t kMuch = 1 << 20;

TEST(NativeSseView, WritesTheEventsOfThePage) {
  TestStream stream;
  stream.add("Hi");
  stream.add("!");
  NativeSseView view{stream.resumed({1}), {.tokens = true}, BodyFraming::until_close};
  stream::Cursor cursor{.next = {1}};
  std::string out;
  view.render(stream.log, cursor, out, kMuch);
  EXPECT_EQ(out, id_line(1) + R"(data: {"type":"RESUMED","stream":")" + to_text(kStream) +
                     R"(","epoch":1,"from":1,"head":2,"state":"decode","model":"tiny@1",)"
                     R"("prompt_tokens":7,"expires_at":1700000600000})" +
                     "\n\n" + id_line(2) +
                     R"(data: {"type":"INFER_CHUNK","seq":1,"n":1,"text":"!","tokens":[1]})"
                     "\n\n");
  out.clear();
  stream.end(stream::FinishReason::stop);
  EXPECT_TRUE(view.render(stream.log, cursor, out, kMuch).done);
  const auto all = events(out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id.next, Offset{2});
  const auto done = boost::json::parse(all[0].data);
  EXPECT_EQ(done.at("type"), "INFER_DONE");
  EXPECT_EQ(done.at("seq"), 2);
  EXPECT_FALSE(done.as_object().contains("id"));
}

TEST(NativeSseView, SaysWhereItIsBeforeThereIsAToken) {
  const TestStream stream;
  NativeSseView view{stream.resumed({}), {}, BodyFraming::chunked};
  stream::Cursor cursor;
  std::string out;
  view.render(stream.log, cursor, out, kMuch);
  EXPECT_NE(out.find("RESUMED"), std::string::npos);
  out.clear();
  view.render(stream.log, cursor, out, kMuch);
  EXPECT_EQ(out, "");
}

void check_any_cut(std::uint64_t seed) {
  Prng prng{seed};
  TestStream stream{true};
  const std::uint64_t tokens = prng.below(200);
  const std::uint64_t from = prng.below(tokens + 1);
  while (stream.log.appended().value < from) add_awkward(stream, stream.log.appended().value);
  NativeSseView view{stream.resumed({from}), {.logprobs = seed % 2 == 0}, BodyFraming::chunked};
  stream::Cursor cursor{.next = {from}};
  DeliveryCheck check{cursor.next};
  std::string body;
  while (!cursor.done) {
    for (std::uint64_t i = prng.below(20); i > 0 && stream.log.appended().value < tokens; --i) {
      add_awkward(stream, stream.log.appended().value);
    }
    if (stream.log.appended().value == tokens && !stream.log.head().done) {
      stream.end(stream::FinishReason::length);
    }
    EXPECT_TRUE(check.on_rendered(view.render(stream.log, cursor, body, prng.below(300))));
  }
  EXPECT_TRUE(check.complete({tokens}));
  const Body whole = dechunk(body);
  EXPECT_TRUE(whole.ended);
  std::string text;
  stream.log.append_text({0}, {from}, text);
  std::uint64_t seq = from;
  for (const Event& event : events(whole.content)) {
    const auto message = boost::json::parse(event.data);
    if (message.at("type") == "INFER_CHUNK") {
      EXPECT_EQ(message.at("seq").to_number<std::uint64_t>(), seq);
      seq += message.at("n").to_number<std::uint64_t>();
      text += as_string(message.at("text"));
    }
    EXPECT_EQ(event.id.next, Offset{seq});
  }
  EXPECT_EQ(text, stream.text);
  EXPECT_EQ(seq, tokens);
}

TEST(NativeSseView, GivesTheRestOfTheStreamHoweverItIsCut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    check_any_cut(seed);
  }
}

}  // namespace
}  // namespace seedance::api
