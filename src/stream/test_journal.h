// Records and segments for the journal's tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "stream/journal_record.h"

namespace seedance::stream {

inline constexpr BootId kBoot = {1, 2, 3};
inline constexpr BootId kOtherBoot = {9};

inline StreamId stream_id(std::uint64_t number) {
  return {.high = number << 16, .low = number * 7};
}

inline WallTime wall(std::int64_t ns) {
  return WallTime{WallTime::duration{ns}};
}

// Tokens [from, from + count) of a stream: each a function of its place.
inline Tokens make_tokens(std::uint64_t from, std::uint64_t count, bool scored = false) {
  Tokens tokens;
  for (std::uint64_t at = from; at < from + count; ++at) {
    const auto id = static_cast<std::int32_t>(at * 31 % 1000);
    const std::string text(at % 5, static_cast<char>('a' + at % 26));
    tokens.ids.push_back({id});
    tokens.times.push_back(wall(static_cast<std::int64_t>(1'000'000 + at)));
    tokens.text_bytes.push_back(static_cast<std::uint32_t>(text.size()));
    tokens.text += text;
    if (scored) {
      const float chosen = -0.5F * static_cast<float>(at);
      tokens.logprobs.push_back({.chosen = chosen});
      if (at % 3 != 0) tokens.logprobs.back().top = {{{id}, chosen}, {{id + 1}, chosen - 1}};
    }
  }
  return tokens;
}

inline StateRecord make_state(std::uint64_t number, std::uint64_t tokens = 0, bool scored = false) {
  return {.header = {.stream = stream_id(number),
                     .epoch = {1},
                     .gen = {1},
                     .created = wall(static_cast<std::int64_t>(number)),
                     .tenant = "local",
                     .key = number % 2 == 0 ? "" : "key " + std::to_string(number),
                     .body = {static_cast<std::uint8_t>(number), 0xFF},
                     .model = "demo@1",
                     .model_digest = "sha256:00",
                     .prompt_tokens = 5,
                     .with_logprobs = scored,
                     .keep = number % 3 != 0,
                     .request = std::string("a request\0", 10)},
          .tokens = make_tokens(0, tokens, scored),
          .ended = {}};
}

inline TokensRecord make_record(std::uint64_t number, std::uint64_t from, std::uint64_t count = 1,
                                std::uint32_t gen = 1, bool scored = false) {
  return {.stream = stream_id(number),
          .gen = {gen},
          .from = {from},
          .tokens = make_tokens(from, count, scored)};
}

inline Ended make_end(FinishReason reason, std::uint32_t tokens = 0) {
  Ended ended{.terminal = {.reason = reason,
                           .usage = {.prompt_tokens = 5,
                                     .completion_tokens = tokens,
                                     .cached_tokens = 3,
                                     .dropped_tokens = 2},
                           .timing = {.queue = Duration{1},
                                      .prefill = Duration{2},
                                      .ttft = Duration{3},
                                      .decode = Duration{-4}},
                           .sha256 = {7, 8}},
              .at = wall(99)};
  if (reason == FinishReason::error) {
    ended.terminal.problem = Problem{.code = ErrorCode::engine_failed,
                                     .message = "the engine died",
                                     .param = "model",
                                     .numbers = {{"deaths", 2}, {"", -1}},
                                     .retry_after_ms = 5};
  }
  return ended;
}

inline EndRecord make_end_record(std::uint64_t number, FinishReason reason = FinishReason::stop,
                                 std::uint32_t gen = 1) {
  return {.stream = stream_id(number), .gen = {gen}, .ended = make_end(reason)};
}

inline DriveRecord make_drive(std::uint64_t number, std::uint32_t gen,
                              DriveRecord::Cause cause = DriveRecord::Cause::server,
                              std::uint32_t epoch = 1) {
  return {.stream = stream_id(number), .gen = {gen}, .epoch = {epoch}, .cause = cause};
}

inline std::string make_segment(std::uint32_t number, const std::vector<JournalRecord>& records,
                                const BootId& boot = kBoot, bool synced_always = false) {
  std::string bytes;
  encode(
      SegmentHeader{
          .segment = number, .boot = boot, .created = wall(1), .synced_always = synced_always},
      bytes);
  for (const JournalRecord& record : records) encode(record, bytes);
  return bytes;
}

}  // namespace seedance::stream
