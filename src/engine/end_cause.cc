#include "engine/end_cause.h"

#include <array>

namespace seedance::engine {

std::string_view name(EndCause cause) {
  constexpr std::array<std::string_view, kEndCauseCount> kNames{
      "other", "refused", "out_of_memory", "killed", "aborted", "hung"};
  return kNames.at(static_cast<std::size_t>(cause));
}

}  // namespace seedance::engine
