#include <gtest/gtest.h>

#include "api/native.h"
#include "api/view_fixture.h"
#include "base/random.h"
#include "base/unicode.h"
#include "wire/fm.h"

namespace seedance::api {
namespace {

constexpr std::size_t kMuch = 1 << 20;

// What a client has of one stream.
struct Client {
  std::string text;
  std::uint64_t seq = 0;
  int chunks = 0;
  int finals = 0;
  int dones = 0;

  void on_chunk(std::uint64_t from, std::uint64_t count, std::string_view piece) {
    EXPECT_EQ(from, seq) << "gap or repeat";
    EXPECT_EQ(dones, 0) << "a chunk after the end";
    EXPECT_TRUE(is_utf8(piece));
    seq += count;
    text += piece;
    ++chunks;
  }

  void on_frames(std::string_view bytes) {
    for (const auto& [opcode, payload] : frames(bytes)) {
      if (opcode == wire::Opcode::binary) {
        const auto fm = wire::decode_fm(as_bytes(payload));
        ASSERT_TRUE(fm) << fm.error().detail;
        EXPECT_EQ(fm->channel, 5U);
        if (fm->marks.final) ++finals;
        on_chunk(fm->seq, fm->tokens, fm->text);
        continue;
      }
      const auto message = boost::json::parse(payload);
      EXPECT_EQ(message.at("id"), "me");
      if (message.at("type") == "INFER_CHUNK") {
        on_chunk(message.at("seq").to_number<std::uint64_t>(),
                 message.at("n").to_number<std::uint64_t>(), as_string(message.at("text")));
      } else {
        EXPECT_EQ(message.at("type"), "INFER_DONE");
        EXPECT_EQ(message.at("seq").to_number<std::uint64_t>(), seq);
        ++dones;
      }
    }
  }
};

std::string render(NativeView& view, const TestStream& stream, stream::Cursor& cursor,
                   std::size_t bytes_max = kMuch) {
  std::string out;
  view.render(stream.log, cursor, out, bytes_max);
  return out;
}

// Of one that nobody asks again.
std::string render(NativeView&& view, const TestStream& stream, stream::Cursor& cursor) {
  return render(view, stream, cursor);
}

void check_any_cut(Subprotocol subprotocol, std::uint64_t seed) {
  Prng prng{seed};
  TestStream stream{true};
  const ChunkExtras with{.tokens = seed % 2 == 0, .logprobs = seed % 3 == 0};
  NativeView view{subprotocol, "me", 5, with};
  stream::Cursor cursor;
  DeliveryCheck check;
  Client client;
  const std::uint64_t tokens = prng.below(600);
  while (!cursor.done) {
    for (std::uint64_t i = prng.below(40); i > 0 && stream.log.appended().value < tokens; --i) {
      add_awkward(stream, stream.log.appended().value);
    }
    if (stream.log.appended().value == tokens && !stream.log.head().done) {
      stream.end(stream::FinishReason::length);
    }
    const std::size_t bytes_max = prng.below(3) == 0 ? kMuch : prng.below(300);
    std::string out;
    EXPECT_TRUE(check.on_rendered(view.render(stream.log, cursor, out, bytes_max)));
    client.on_frames(out);
    EXPECT_EQ(client.seq, cursor.next.value);
  }
  EXPECT_TRUE(check.complete({tokens}));
  EXPECT_EQ(render(view, stream, cursor), "") << "nothing follows the end";
  EXPECT_EQ(client.text, stream.text);
  EXPECT_EQ(client.seq, tokens);
  EXPECT_EQ(client.dones, 1);
  EXPECT_EQ(client.finals, subprotocol == Subprotocol::binary ? 1 : 0);
}

TEST(NativeView, GivesTheSameStreamHoweverItIsCut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    check_any_cut(Subprotocol::json, seed);
    check_any_cut(Subprotocol::binary, seed);
  }
}

// What a client had and what it gets from there on is the whole.
TEST(NativeView, GoesOnWhereverAClientStopped) {
  TestStream stream;
  for (std::size_t i = 0; i < 40; ++i) add_awkward(stream, i);
  stream.end(stream::FinishReason::stop);
  for (const Subprotocol subprotocol : {Subprotocol::json, Subprotocol::binary}) {
    NativeView view{subprotocol, "me", 5, {}};
    for (std::uint64_t from = 0; from <= 40; ++from) {
      Client client{.seq = from};
      stream.log.append_text({0}, {from}, client.text);
      stream::Cursor cursor{.next = {from}};
      client.on_frames(render(view, stream, cursor, 100));
      while (!cursor.done) client.on_frames(render(view, stream, cursor, 100));
      EXPECT_EQ(client.text, stream.text);
      EXPECT_EQ(client.seq, 40U);
      EXPECT_EQ(client.dones, 1);
    }
  }
}

TEST(NativeView, TellsAgainWhatWasTakenBack) {
  TestStream stream;
  NativeView view{Subprotocol::json, "me", 5, {}};
  stream::Cursor cursor;
  for (const char* text : {"one ", "two ", "three "}) {
    stream.add(text);
    const stream::Cursor before = cursor;
    const std::string told = render(view, stream, cursor);
    cursor = before;
    EXPECT_EQ(render(view, stream, cursor), told);
    EXPECT_NE(told.find(text), std::string::npos);
  }
  cursor = {.next = {1}};
  EXPECT_NE(render(view, stream, cursor).find("two three "), std::string::npos);
}

TEST(NativeView, EscapesTheNameOfTheClient) {
  TestStream stream;
  stream.add("x");
  NativeView view{Subprotocol::json, "say \"me\"", 5, {}};
  stream::Cursor cursor;
  EXPECT_EQ(only_payload(render(view, stream, cursor)),
            R"({"type":"INFER_CHUNK","id":"say \"me\"","seq":0,"n":1,"text":"x"})");
}

TEST(NativeView, AppendsNothingWhenThereIsNothingNew) {
  TestStream stream;
  NativeView view{Subprotocol::json, "me", 5, {}};
  stream::Cursor cursor;
  EXPECT_EQ(render(view, stream, cursor), "");
  stream.add("a");
  EXPECT_NE(render(view, stream, cursor), "");
  EXPECT_EQ(render(view, stream, cursor), "");
  EXPECT_FALSE(cursor.done);
}

TEST(NativeView, MergesWhatIsThereIntoOneChunk) {
  for (const Subprotocol subprotocol : {Subprotocol::json, Subprotocol::binary}) {
    TestStream stream;
    NativeView view{subprotocol, "me", 5, {}};
    stream::Cursor cursor;
    for (int i = 0; i < 100; ++i) stream.add("abc");
    Client client;
    client.on_frames(render(view, stream, cursor));
    EXPECT_EQ(client.chunks, 1);
    EXPECT_EQ(client.seq, 100U);
  }
}

TEST(NativeView, AppendsOneFrameEvenWithoutRoom) {
  TestStream stream;
  NativeView view{Subprotocol::json, "me", 5, {}};
  stream::Cursor cursor;
  for (int i = 0; i < 3; ++i) stream.add("abc");
  stream.end(stream::FinishReason::stop);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(frames(render(view, stream, cursor, 0)).size(), 1U);
    EXPECT_EQ(cursor.next, Offset{i});
    EXPECT_FALSE(cursor.done);
  }
  EXPECT_EQ(frames(render(view, stream, cursor, 0)).size(), 1U);
  EXPECT_TRUE(cursor.done);
}

TEST(NativeView, KeepsToTheRoomThatItIsGiven) {
  TestStream stream;
  NativeView view{Subprotocol::json, "me", 5, {.tokens = true}};
  stream::Cursor cursor;
  for (int i = 0; i < 10'000; ++i) stream.add("abcdefgh");
  const std::string out = render(view, stream, cursor, 16'384);
  EXPECT_LT(out.size(), 20'000U);
  EXPECT_GT(cursor.next.value, 500U);
}

TEST(NativeView, WritesChunksAsThePageSays) {
  TestStream stream{true};
  stream.add("Hi");
  stream.add(" you");
  stream::Cursor cursor;
  EXPECT_EQ(only_payload(render({Subprotocol::json, "me", 5, {}}, stream, cursor)),
            R"({"type":"INFER_CHUNK","id":"me","seq":0,"n":2,"text":"Hi you"})");
  cursor = {};
  const ChunkExtras all{.tokens = true, .logprobs = true, .time = true};
  EXPECT_EQ(
      only_payload(render({Subprotocol::json, "me", 5, all}, stream, cursor)),
      R"({"type":"INFER_CHUNK","id":"me","seq":0,"n":2,"text":"Hi you","tokens":[0,1],)"
      R"("logprobs":[{"logprob":-0,"top":[{"token":0,"logprob":-0},{"token":0,"logprob":-8}]},)"
      R"({"logprob":-0.25,"top":[{"token":1,"logprob":-0.25},{"token":0,"logprob":-8}]}],)"
      R"("time":[0,1.5]})");
}

TEST(NativeView, WritesTheEndAsThePageSays) {
  TestStream stream;
  stream.end(stream::FinishReason::cancelled);
  stream::Cursor cursor;
  std::string hash;
  for (int i = 0; i < 32; ++i) hash += "a5";
  const std::string payload =
      only_payload(render({Subprotocol::json, "me", 5, {}}, stream, cursor));
  EXPECT_EQ(payload,
            R"({"type":"INFER_DONE","id":"me","seq":0,"finish_reason":"cancelled",)"
            R"("usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7,)"
            R"("prompt_tokens_details":{"cached_tokens":0}},)"
            R"("timing":{"queue_ms":1.5,"prefill_ms":2,"ttft_ms":4,"decode_ms":100},"sha256":")" +
                hash + R"("})");
}

TEST(NativeView, SaysWhyAStreamFailed) {
  TestStream stream;
  stream.add("a");
  stream.end(stream::FinishReason::error,
             Problem{.code = ErrorCode::engine_failed, .message = "The worker ended."});
  stream::Cursor cursor;
  const auto all = frames(render({Subprotocol::json, "me", 5, {}}, stream, cursor));
  ASSERT_EQ(all.size(), 2U);
  const auto done = boost::json::parse(all[1].payload);
  EXPECT_EQ(done.at("finish_reason"), "error");
  EXPECT_EQ(done.at("error"),
            boost::json::parse(
                R"({"code":"engine_failed","message":"The worker ended.","retryable":true})"));
}

TEST(NativeView, WritesBinaryChunksByteByByte) {
  TestStream stream{true};
  stream.add("Hi");
  stream.add("!");
  stream::Cursor cursor;
  using namespace std::string_literals;
  const ChunkExtras with{.tokens = true, .logprobs = true};
  EXPECT_EQ(only_payload(render({Subprotocol::binary, "me", 5, with}, stream, cursor)),
            "FM\x02\x18\0\0\0\x05\0\0\0\0\0\0\0\x15"s  // Flags 8 and 16.
            "\0\x02\0\0\0\0\0\0\0\x01"s                // n and the ids.
            "\x80\0\0\0\xBE\x80\0\0Hi!"s);
}

// The example of the page.
TEST(NativeView, WritesTheBytesOfThePage) {
  TestStream stream;
  stream.add("Hi");
  stream.add("!");
  stream::Cursor cursor;
  using namespace std::string_literals;
  EXPECT_EQ(only_payload(render({Subprotocol::binary, "me", 5, {.tokens = true}}, stream, cursor)),
            "\x46\x4D\x02\x08\0\0\0\x05\0\0\0\0\0\0\0\x0D\0\x02\0\0\0\0\0\0\0\x01\x48\x69\x21"s);
}

TEST(NativeView, EndsABinaryStreamWithOneFinalFrameThenTheDone) {
  for (const bool failed : {false, true}) {
    TestStream stream;
    const std::optional<Problem> problem = failed ? std::optional{Problem{}} : std::nullopt;
    stream.end(failed ? stream::FinishReason::error : stream::FinishReason::stop, problem);
    stream::Cursor cursor;
    const auto all = frames(render({Subprotocol::binary, "me", 5, {}}, stream, cursor));
    ASSERT_EQ(all.size(), 2U);
    const auto fm = wire::decode_fm(as_bytes(all[0].payload));
    ASSERT_TRUE(fm);
    EXPECT_EQ(fm->marks, (wire::FmMarks{.final = true, .usage = true, .error = failed}));
    EXPECT_EQ(all[1].opcode, wire::Opcode::text);
    EXPECT_EQ(boost::json::parse(all[1].payload).at("type"), "INFER_DONE");
  }
}

}  // namespace
}  // namespace seedance::api
