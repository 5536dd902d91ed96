#include "sched/draft_budget.h"

#include <algorithm>
#include <bit>

namespace seedance::sched {
namespace {

// What twice the rows take where nobody has measured it: little, so that somebody does.
constexpr double kTwiceGuess = 1.25;

// Guesses have to win by so much, as costs and chances are averages.
constexpr double kWorth = 1.1;

// Tokens that a sequence is expected to make in one step, beside its next one.
double expected(double chance, std::uint32_t guesses) {
  double sum = 0;
  double all = 1;
  for (; guesses > 0; --guesses) sum += all *= chance;
  return sum;
}

}  // namespace

DraftBudget::Choice DraftBudget::choose(std::uint32_t sequences, std::uint32_t most,
                                        std::span<const double> chances, double guess_ns) const {
  const double plain = costs_.of(sequences);
  Choice best;
  if (plain == 0 || chances.empty()) return best;
  double took = plain;
  for (std::uint32_t all = 2 * std::bit_ceil(sequences); all / sequences <= most; all *= 2) {
    const std::uint32_t rows = all / sequences;
    const double known = costs_.of(rows * sequences);
    took = known > 0 ? known : kTwiceGuess * took;
    double tokens = sequences;
    for (const double chance : chances) tokens += expected(chance, rows - 1);
    const double speed = tokens / sequences * plain / (took + (guess_ns * (rows - 1)));
    if (speed > std::max(kWorth, best.speed)) best = {.rows = rows, .speed = speed};
  }
  return best;
}

void DraftBudget::on_step(std::uint32_t rows, Duration took) {
  if (rows > 0) costs_.on_step(rows, took);
}

}  // namespace seedance::sched
