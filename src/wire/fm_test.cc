#include "wire/fm.h"

#include <gtest/gtest.h>

namespace seedance::wire {
namespace {

using namespace std::string_literals;

constexpr TokenId kIds[] = {{1}, {-2}, {0x01020304}};
constexpr float kLogprobs[] = {-0.5F, 0.0F, -1e9F};

constexpr FmChunk kChunk{.channel = 0xA1B2C3D4,
                         .seq = 0x01020304,
                         .tokens = 3,
                         .marks = {.final = true, .usage = true, .error = false},
                         .ids = kIds,
                         .logprobs = kLogprobs,
                         .text = "hé"};

std::string encode(const FmChunk& chunk) {
  std::string out;
  append_fm(out, chunk);
  EXPECT_EQ(out.size(), fm_bytes(chunk));
  return out;
}

Errc error_of(std::string_view bytes) {
  const auto frame = decode_fm(as_bytes(bytes));
  EXPECT_FALSE(frame);
  return frame ? Errc::invalid : frame.error().code;
}

TEST(Fm, HasTheBytesOfTheFormat) {
  EXPECT_EQ(encode(kChunk),
            "FM\x02\x1B\xA1\xB2\xC3\xD4\x01\x02\x03\x04\0\0\0\x1D"
            "\0\x03"
            "\0\0\0\x01\xFF\xFF\xFF\xFE\x01\x02\x03\x04"
            "\xBF\0\0\0\0\0\0\0\xCE\x6E\x6B\x28"
            "h\xC3\xA9"s);
  EXPECT_EQ(encode({.channel = 1, .seq = 2, .tokens = 1, .text = "x"}),
            "FM\x02\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\x01x"s);
}

TEST(Fm, ReadsBackWhatItWrites) {
  const auto frame = decode_fm(as_bytes(encode(kChunk)));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->channel, kChunk.channel);
  EXPECT_EQ(frame->seq, kChunk.seq);
  EXPECT_EQ(frame->tokens, kChunk.tokens);
  EXPECT_EQ(frame->marks, kChunk.marks);
  EXPECT_TRUE(std::ranges::equal(frame->ids, kIds));
  EXPECT_TRUE(std::ranges::equal(frame->logprobs, kLogprobs));
  EXPECT_EQ(frame->text, kChunk.text);

  const auto small = decode_fm(as_bytes(encode({.marks = {.error = true}})));
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->marks.error);
  EXPECT_TRUE(small->ids.empty());
  EXPECT_EQ(small->text, "");
}

TEST(Fm, IsTruncatedAtEveryCut) {
  const std::string bytes = encode(kChunk);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(error_of(bytes.substr(0, cut)), Errc::truncated) << cut;
  }
}

// Whatever bit is wrong, the frame is refused or differs: no bit is unread.
TEST(Fm, ReadsEveryBit) {
  const std::string bytes = encode(kChunk);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto frame = decode_fm(as_bytes(changed));
    if (!frame) continue;
    const std::string again = encode({.channel = frame->channel,
                                      .seq = frame->seq,
                                      .tokens = frame->tokens,
                                      .marks = frame->marks,
                                      .ids = frame->ids,
                                      .logprobs = frame->logprobs,
                                      .text = frame->text});
    EXPECT_EQ(again, changed) << bit;
    EXPECT_NE(again, bytes) << bit;
  }
}

TEST(Fm, RefusesWhatCanNeverBeAFrame) {
  const std::string bytes = encode(kChunk);
  const auto with = [&bytes](std::size_t at, char byte) {
    std::string changed = bytes;
    changed.at(at) = byte;
    return changed;
  };
  EXPECT_EQ(error_of(with(0, 'f')), Errc::corrupt);
  EXPECT_EQ(error_of(with(1, 'm')), Errc::corrupt);
  EXPECT_EQ(error_of(with(2, 1)), Errc::corrupt);
  EXPECT_EQ(error_of(with(3, 0x20)), Errc::corrupt);
  EXPECT_EQ(error_of(with(15, 0x1C)), Errc::corrupt);  // A byte too many.
  EXPECT_EQ(error_of(with(15, 0x1E)), Errc::truncated);
  EXPECT_EQ(error_of(with(16, 1)), Errc::corrupt);  // More tokens than bytes.
  EXPECT_EQ(error_of(with(bytes.size() - 1, 'x')), Errc::corrupt);
  EXPECT_EQ(error_of("FM\x02\0\0\0\0\0\0\0\0\0\0\0\0\x01x"s), Errc::corrupt);
  EXPECT_EQ(error_of("FM\x02\x08\0\0\0\0\0\0\0\0\0\0\0\x02\0\0"s), Errc::corrupt);
}

}  // namespace
}  // namespace seedance::wire
