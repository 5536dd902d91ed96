// How much memory this process has, and may still take.
#pragma once

#include <cstdint>

namespace seedance::llama {

// Bytes that the machine (MemAvailable of /proc/meminfo) and the control group
// (memory.max of cgroup v2) leave, whichever is less.
std::uint64_t available_memory();

// In bytes, of what this process has in the machine's memory.
struct ResidentMemory {
  std::uint64_t all = 0;
  std::uint64_t of_files = 0;  // Of this, what can be read from files again: mapped ones.
};
ResidentMemory resident_memory();

}  // namespace seedance::llama
