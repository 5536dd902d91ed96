#include "base/priority.h"

#include <algorithm>

namespace seedance {
namespace {

constexpr std::array<std::string_view, kPriorityCount> kNames{"realtime", "interactive", "batch"};

}  // namespace

std::string_view name(Priority priority) {
  return kNames.at(rank(priority));
}

std::optional<Priority> parse_priority(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return kPriorities.at(static_cast<std::size_t>(found - kNames.begin()));
}

}  // namespace seedance
