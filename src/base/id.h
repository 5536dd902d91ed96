// Names of things, each its own type.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace seedance {

// One generation: 128 bits, of which the first 48 are wall milliseconds (so that
// ids sort by age, as in RFC 9562 version 7) and 80 come from the system's
// secure generator (so that nobody can guess one). Text form: "st_" and 26
// digits of Crockford's base 32 in lower case.
struct StreamId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(StreamId, StreamId) = default;
};

inline constexpr std::string_view kStreamIdPrefix = "st_";

// `entropy` is ten fresh bytes of the secure generator.
StreamId make_stream_id(std::uint64_t wall_ms, const std::array<std::uint8_t, 10>& entropy);

std::string to_text(StreamId id);

// Nothing unless `text` is exactly what to_text() gives for some id.
std::optional<StreamId> parse_stream_id(std::string_view text);

// Position of one token in its stream. Offsets start at 0 and leave no gaps.
struct Offset {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Offset, Offset) = default;
  friend constexpr Offset operator+(Offset at, std::uint64_t count) { return {at.value + count}; }
};

// A token of one model's vocabulary.
struct TokenId {
  std::int32_t value = 0;

  friend constexpr auto operator<=>(TokenId, TokenId) = default;
};

// The fencing number of whoever may append to a log.
struct Generation {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Generation, Generation) = default;
};

// The incarnation of a log.
struct Epoch {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Epoch, Epoch) = default;
};

// One connection of one edge; never used again within a process.
struct ConnectionId {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(ConnectionId, ConnectionId) = default;
};

}  // namespace seedance

template <>
struct std::hash<seedance::StreamId> {
  std::size_t operator()(seedance::StreamId id) const noexcept {
    return static_cast<std::size_t>(id.low ^ (id.high * 0x9E3779B97F4A7C15ULL));
  }
};

template <>
struct std::hash<seedance::ConnectionId> {
  std::size_t operator()(seedance::ConnectionId id) const noexcept {
    return static_cast<std::size_t>(id.value);
  }
};
