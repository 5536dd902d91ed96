#include "llama/system_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace seedance::llama {
namespace {

// The number in a file that holds one; nothing for "max" or when there is no file.
std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file{path};
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::uint64_t machine_available() {
  std::ifstream file{"/proc/meminfo"};
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib && std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t available_memory() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return machine_available();
  return std::min(machine_available(), *limit - std::min(*limit, *used));
}

ResidentMemory resident_memory() {
  std::ifstream file{"/proc/self/statm"};
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  if (!(file >> size >> resident >> shared)) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.all = resident * page, .of_files = shared * page};
}

}  // namespace seedance::llama
