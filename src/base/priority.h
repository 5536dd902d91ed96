// How urgent a request is.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace seedance {

// The lower the value, the higher the class.
enum class Priority : std::uint8_t {
  realtime,     // Somebody listens or speaks: goes before all others, and may take a place.
  interactive,  // Somebody waits for it.
  batch,        // Nobody waits for it.
};

inline constexpr std::size_t kPriorityCount = 3;
inline constexpr std::array kPriorities{Priority::realtime, Priority::interactive, Priority::batch};

constexpr std::size_t rank(Priority priority) {
  return static_cast<std::size_t>(priority);
}

// As clients write it.
std::string_view name(Priority priority);
std::optional<Priority> parse_priority(std::string_view name);

// As messages and journals hold it.
constexpr std::optional<Priority> to_priority(std::uint8_t value) {
  if (value >= kPriorityCount) return std::nullopt;
  return static_cast<Priority>(value);
}

}  // namespace seedance
