// How a job is called.
#pragma once

#include <compare>
#include <cstdint>

#include "base/id.h"

namespace seedance::sched {

// A job as its owner names it. Another generation is another job.
struct JobKey {
  std::uint64_t id = 0;
  Generation gen = {};

  friend constexpr auto operator<=>(const JobKey&, const JobKey&) = default;
};

}  // namespace seedance::sched
