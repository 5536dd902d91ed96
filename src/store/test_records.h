// Batches whose recovery says how many of them there were.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "store/journal_directory.h"
#include "stream/journal.h"
#include "stream/journal_record.h"

namespace seedance::store {

inline constexpr std::uint64_t kTestStreams = 3;
inline constexpr stream::BootId kTestBoot{1, 2, 3};
inline constexpr stream::BootId kOtherBoot{4, 5, 6};

inline StreamId test_stream(std::uint64_t number) {
  return {.high = 1, .low = number};
}

// The first `count` tokens from `from` on, of any stream.
inline stream::Tokens test_tokens(std::uint64_t from, std::uint64_t count) {
  stream::Tokens tokens;
  for (std::uint64_t i = from; i < from + count; ++i) {
    tokens.ids.push_back({static_cast<std::int32_t>(i)});
    tokens.times.push_back(WallTime{Duration{static_cast<std::int64_t>(i)}});
    const std::string text = "t" + std::to_string(i);
    tokens.text_bytes.push_back(static_cast<std::uint32_t>(text.size()));
    tokens.text += text;
  }
  return tokens;
}

inline stream::StateRecord test_state(std::uint64_t stream, std::uint64_t tokens) {
  return {.header = {.stream = test_stream(stream),
                     .epoch = {1},
                     .gen = {1},
                     .tenant = "local",
                     .model = "demo@1",
                     .prompt_tokens = 5,
                     .request = "a secret prompt"},
          .tokens = test_tokens(0, tokens)};
}

// Batch 1 begins the streams, each later one appends a token to each of them.
inline stream::JournalWrite test_batch(std::uint64_t batch, std::uint32_t segment) {
  stream::JournalWrite write{.batch = batch, .segment = segment};
  for (std::uint64_t stream = 1; stream <= kTestStreams; ++stream) {
    if (batch == 1) {
      stream::encode(test_state(stream, 0), write.bytes);
    } else {
      stream::encode(stream::TokensRecord{.stream = test_stream(stream),
                                          .gen = {1},
                                          .from = {batch - 2},
                                          .tokens = test_tokens(batch - 2, 1)},
                     write.bytes);
    }
  }
  return write;
}

// What batches 1 to `batch` came to, copied forward.
inline stream::JournalWrite test_copy(std::uint64_t batch, std::uint32_t segment) {
  stream::JournalWrite write{.batch = batch, .segment = segment};
  for (std::uint64_t stream = 1; stream <= kTestStreams; ++stream) {
    stream::encode(test_state(stream, batch - 1), write.bytes);
  }
  return write;
}

// How many batches are there as a whole; fails the test when any token is wrong.
inline std::uint64_t batches_in(const stream::Recovery& recovery) {
  if (recovery.streams.size() < kTestStreams) return 0;
  std::uint64_t least = UINT64_MAX;
  for (const stream::RecoveredStream& stream : recovery.streams) {
    const std::uint64_t count = stream.state.tokens.ids.size();
    EXPECT_EQ(stream.state.tokens, test_tokens(0, count));
    least = std::min(least, count);
  }
  return least + 1;
}

// The same of a directory; nothing when it is damaged.
inline std::optional<std::uint64_t> batches_in(const std::string& directory,
                                               const stream::BootId& boot = kTestBoot) {
  const auto contents = read_journal(directory, boot);
  if (!contents) {
    ADD_FAILURE() << contents.error().detail;
    return std::nullopt;
  }
  return batches_in(contents->recovery);
}

}  // namespace seedance::store
