#include "sched/draft_budget.h"

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

// What twice the rows take where nobody has measured it: little, so that somebody does.
constexpr double kTwiceGuess = 1.25;

// After so many steps a cost is measured again when it matters.
constexpr std::uint64_t kStepsKept = 1024;

// Guesses have to win by so much, as costs and chances are averages.
constexpr double kWorth = 1.1;

std::size_t bucket(std::uint32_t rows) {
  return static_cast<std::size_t>(std::bit_width(rows - 1));
}

// Tokens that a sequence is expected to make in one step, beside its next one.
double expected(double chance, std::uint32_t guesses) {
  double sum = 0;
  double all = 1;
  for (; guesses > 0; --guesses) sum += all *= chance;
  return sum;
}

}  // namespace

std::uint32_t DraftBudget::rows(std::uint32_t sequences, std::uint32_t most,
                                std::span<const double> chances) const {
  const double plain = cost(sequences);
  if (plain == 0 || chances.empty()) return 1;
  std::uint32_t best = 1;
  double best_rate = kWorth * sequences / plain;
  double took = plain;
  for (std::uint32_t all = 2 * std::bit_ceil(sequences); all / sequences <= most; all *= 2) {
    const std::uint32_t rows = all / sequences;
    const double known = cost(rows * sequences);
    took = known > 0 ? known : kTwiceGuess * took;
    double tokens = sequences;
    for (const double chance : chances) tokens += expected(chance, rows - 1);
    if (tokens / took <= best_rate) continue;
    best = rows;
    best_rate = tokens / took;
  }
  return best;
}

void DraftBudget::on_step(std::uint32_t rows, Duration took) {
  if (rows == 0) return;
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

// 0 = not known.
double DraftBudget::cost(std::uint32_t rows) const {
  const auto& [ns, steps, told_at] = costs_[bucket(rows)];
  return steps >= kStepsMin && steps_ - told_at < kStepsKept ? ns : 0;
}

}  // namespace seedance::sched
