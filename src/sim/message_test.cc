#include "sim/message.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "wire/fm.h"

namespace seedance::sim {
namespace {

TEST(ServerMessage, IsReadFromJson) {
  const auto chunk = parse_server_message(
      R"({"type":"INFER_CHUNK","id":"a","seq":3,"n":2,"text":"h\u00e9","tokens":[7,8]})");
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->type, "INFER_CHUNK");
  EXPECT_EQ(chunk->id, "a");
  EXPECT_EQ(chunk->seq, 3U);
  EXPECT_EQ(chunk->n, 2U);
  EXPECT_EQ(chunk->text, "h\xC3\xA9");
  EXPECT_EQ(chunk->tokens, (std::vector<TokenId>{{7}, {8}}));

  const auto done = parse_server_message(
      R"({"type":"INFER_DONE","id":"a","seq":5,"finish_reason":"error",)"
      R"("usage":{"completion_tokens":5},"sha256":"ab","error":{"code":"engine_failed"}})");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->finish_reason, "error");
  EXPECT_EQ(done->completion_tokens, 5U);
  EXPECT_EQ(done->sha256, "ab");
  EXPECT_EQ(done->code, "engine_failed");

  const auto error = parse_server_message(
      R"({"type":"ERROR","code":"epoch_mismatch","message":"m","numbers":{"epoch":4}})");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "epoch_mismatch");
  EXPECT_EQ(error->numbers_epoch, 4U);
}

TEST(ServerMessage, NamesItsStream) {
  const StreamId stream{5, 6};
  const auto accepted =
      parse_server_message(R"({"type":"ACCEPTED","id":"a","stream":")" + to_text(stream) +
                           R"(","epoch":2,"channel":9,"attached":true})");
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->stream, stream);
  EXPECT_EQ(accepted->epoch, Epoch{2});
  EXPECT_EQ(accepted->channel, 9U);
  EXPECT_TRUE(accepted->attached);
}

TEST(ServerMessage, IsReadFromABinaryFrame) {
  std::string bytes;
  wire::append_fm(bytes, {.channel = 4, .seq = 2, .tokens = 1, .text = "x"});
  const auto chunk = parse_server_frame(bytes);
  ASSERT_TRUE(chunk && *chunk);
  EXPECT_EQ((*chunk)->channel, 4U);
  EXPECT_EQ((*chunk)->seq, 2U);
  EXPECT_EQ((*chunk)->n, 1U);
  EXPECT_EQ((*chunk)->text, "x");

  std::string final;
  wire::append_fm(final, {.channel = 4, .seq = 3, .marks = {.final = true}});
  const auto end = parse_server_frame(final);
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

TEST(ServerMessage, AnythingElseIsAnError) {
  EXPECT_FALSE(parse_server_message("[]"));
  EXPECT_FALSE(parse_server_message("{"));
  EXPECT_FALSE(parse_server_frame("FM"));
}

}  // namespace
}  // namespace seedance::sim
