// How many guessed tokens are worth computing beside those that are known.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/time.h"

namespace seedance::sched {

// Learns from steps that only decode what they take, for each power of two of rows, and says
// with how many rows for each sequence the model makes most tokens in its time. A row of a
// guess costs little where the model is bound by reading its weights, and as much as a token
// where it is bound by computing; the step from one row to two may cost more than all others.
// Newer steps count more, and what was learned long ago is learned again. Knows no clock. A
// value; belongs to one thread.
class DraftBudget {
 public:
  // Rows for each of so many sequences, 1 to `most`: the known token and guesses behind it.
  // `chances` are those of the sequences for which there are guesses: how likely each of its
  // guesses is right, if those before are.
  std::uint32_t rows(std::uint32_t sequences, std::uint32_t most,
                     std::span<const double> chances) const;

  // A step without prompts.
  void on_step(std::uint32_t rows, Duration took);

 private:
  struct Cost {
    double ns = 0;
    std::uint32_t steps = 0;    // That told.
    std::uint64_t told_at = 0;  // The last of them.
  };

  double cost(std::uint32_t rows) const;

  std::array<Cost, 33> costs_ = {};  // By the power of two that the rows fit in.
  std::uint64_t steps_ = 0;
};

}  // namespace seedance::sched
