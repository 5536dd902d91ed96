// Counts what a thread allocates. It replaces the operators new and delete of the whole
// program, included by one source of a test only; the thread sanitizer has its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define SEEDANCE_OWN_OPERATORS
#endif
#endif

namespace seedance {

#ifdef SEEDANCE_OWN_OPERATORS
inline constexpr bool kAllocationsCounted = false;
#else
inline constexpr bool kAllocationsCounted = true;
#endif

inline thread_local std::uint64_t allocations = 0;  // Of this thread, since it began.

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole == 0 ? alignment : whole)) return memory;
  throw std::bad_alloc{};
}

}  // namespace seedance

#ifndef SEEDANCE_OWN_OPERATORS
void* operator new(std::size_t bytes) {
  return seedance::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return seedance::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
