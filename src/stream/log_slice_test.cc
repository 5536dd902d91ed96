#include "stream/log_slice.h"

#include <gtest/gtest.h>

#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

constexpr Duration kToWall{1'000'000};

// A log with the tokens that make_tokens() gives.
void fill(TokenLog& log, std::uint64_t count) {
  const Tokens tokens = make_tokens(0, count, log.with_logprobs());
  std::string_view text = tokens.text;
  for (std::size_t at = 0; at < count; ++at) {
    const auto ns = tokens.times[at].time_since_epoch() - kToWall;
    log.append(tokens.ids[at], text.substr(0, tokens.text_bytes[at]), TimePoint{ns},
               log.with_logprobs() ? &tokens.logprobs[at] : nullptr);
    text.remove_prefix(tokens.text_bytes[at]);
  }
}

TEST(LogSlice, IsTheRecordOfItsTokens) {
  for (const bool scored : {false, true}) {
    TokenLog log{scored};
    fill(log, 700);
    for (const std::uint64_t from : {0U, 1U, 63U, 64U, 130U, 699U, 700U}) {
      for (const std::uint64_t to : {0U, 1U, 64U, 65U, 129U, 500U, 700U}) {
        if (to < from) continue;
        const TokensRecord record = make_record(1, from, to - from, 3, scored);
        const LogSlice slice{.stream = record.stream,
                             .gen = record.gen,
                             .log = log,
                             .from = {from},
                             .to = {to},
                             .to_wall = kToWall};
        EXPECT_EQ(to_tokens(slice), record.tokens) << from << " to " << to;
        std::string expected = "before";
        encode(record, expected);
        std::string bytes = "before";
        encode(slice, bytes);
        EXPECT_EQ(bytes, expected) << from << " to " << to;
      }
    }
  }
}

// What was appended last, wherever blocks of tokens or text begin.
TEST(LogSlice, IsTheRecordOfTheLastTokens) {
  const Tokens tokens = make_tokens(0, 400, false);
  TokenLog log{false};
  std::string_view text = tokens.text;
  for (std::uint64_t to = 1; to <= 400; ++to) {
    const std::size_t at = to - 1;
    log.append(tokens.ids[at], text.substr(0, tokens.text_bytes[at]),
               TimePoint{tokens.times[at].time_since_epoch() - kToWall}, nullptr);
    text.remove_prefix(tokens.text_bytes[at]);
    for (std::uint64_t count = 0; count <= std::min<std::uint64_t>(to, 3); ++count) {
      const TokensRecord record = make_record(1, to - count, count, 3, false);
      std::string expected;
      encode(record, expected);
      std::string bytes;
      encode(LogSlice{record.stream, record.gen, log, {to - count}, {to}, kToWall}, bytes);
      EXPECT_EQ(bytes, expected) << count << " to " << to;
    }
  }
}

}  // namespace
}  // namespace seedance::stream
