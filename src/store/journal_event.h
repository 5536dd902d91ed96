// What a journal says to its owner.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/error_code.h"

namespace seedance::store {

// All batches up to this one count as written.
struct Written {
  std::uint64_t batch = 0;

  friend bool operator==(const Written&, const Written&) = default;
};

// Nothing can be written now. It tries again by itself, in order. Said once, until
// Flows takes it back.
struct Stalled {
  Problem problem;     // For clients.
  std::string detail;  // For the operator: names the path and what the system said.

  friend bool operator==(const Stalled&, const Stalled&) = default;
};

// All that waited is written.
struct Flows {
  friend bool operator==(const Flows&, const Flows&) = default;
};

using JournalEvent = std::variant<Written, Stalled, Flows>;

}  // namespace seedance::store
