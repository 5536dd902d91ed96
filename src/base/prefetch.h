// Memory brought near before it is needed.
#pragma once

#include <cstddef>

namespace seedance {

inline constexpr std::size_t kCacheLineBytes = 64;

// Asks the processor for the line at `address`, which may be null or no longer valid, and
// does not wait for it.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
}

// The same for the lines of an object of so many bytes.
inline void prefetch(const void* address, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) {
    prefetch(static_cast<const std::byte*>(address) + at);
  }
}

// The same, to be written: other processors give it up.
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
}

}  // namespace seedance
