#include "sched/row_costs.h"

#include <algorithm>
#include <bit>

namespace seedance::sched {
namespace {

// The share of the newest step in an average. One that took longer counts less: the machine may
// have done other things meanwhile.
constexpr double kFaster = 0.25;
constexpr double kSlower = 0.05;

// For the same reason so many steps have to tell before their cost is known.
constexpr std::uint32_t kStepsMin = 2;

// After so many steps a cost is measured again when it matters.
constexpr std::uint64_t kStepsKept = 1024;

std::size_t bucket(std::uint32_t rows) {
  return static_cast<std::size_t>(std::bit_width(rows - 1));
}

}  // namespace

void RowCosts::on_step(std::uint32_t rows, Duration took) {
  Cost& cost = costs_[bucket(rows)];
  const auto ns = static_cast<double>(took.count());
  if (steps_ - cost.told_at >= kStepsKept) cost.steps = 0;
  cost.told_at = ++steps_;
  if (++cost.steps <= kStepsMin) {
    cost.ns = cost.steps == 1 ? ns : std::min(cost.ns, ns);
  } else {
    cost.ns += (ns < cost.ns ? kFaster : kSlower) * (ns - cost.ns);
  }
}

double RowCosts::of(std::uint32_t rows) const {
  const auto& [ns, steps, told_at] = costs_[bucket(rows)];
  return steps >= kStepsMin && steps_ - told_at < kStepsKept ? ns : 0;
}

}  // namespace seedance::sched
