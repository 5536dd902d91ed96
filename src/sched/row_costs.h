// What a step of a model takes, by its rows.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace seedance::sched {

// Learns it for each power of two of rows. Newer steps count more, and what was learned long ago
// is learned again. Knows no clock. A value; belongs to one thread.
class RowCosts {
 public:
  void on_step(std::uint32_t rows, Duration took);  // At least one row.

  // In nanoseconds; 0 = not known.
  double of(std::uint32_t rows) const;

 private:
  struct Cost {
    double ns = 0;
    std::uint32_t steps = 0;    // That told.
    std::uint64_t told_at = 0;  // The last of them.
  };

  std::array<Cost, 33> costs_ = {};  // By the power of two that the rows fit in.
  std::uint64_t steps_ = 0;
};

}  // namespace seedance::sched
