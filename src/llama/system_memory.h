// How much memory this process may still take.
#pragma once

#include <cstdint>

namespace seedance::llama {

// Bytes that the machine (MemAvailable of /proc/meminfo) and the control group
// (memory.max of cgroup v2) leave, whichever is less.
std::uint64_t available_memory();

}  // namespace seedance::llama
