// Why an engine's process ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seedance::engine {

enum class EndCause : std::uint8_t {
  other,
  refused,        // The model cannot be run at all: a broken file, say.
  out_of_memory,  // It said so itself.
  killed,         // By SIGKILL: by hand, or by the kernel for want of memory. Nobody can tell.
  aborted,        // A failed assertion, a bad access, a backend that computes no more.
  hung,           // It had work and said nothing for too long.
};
inline constexpr std::size_t kEndCauseCount = 6;

// As metrics show it.
std::string_view name(EndCause cause);

}  // namespace seedance::engine
