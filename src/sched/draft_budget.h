// How many guessed tokens are worth computing beside those that are known.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "sched/row_costs.h"

namespace seedance::sched {

// Learns from steps that only decode what they take (RowCosts), and says with how many rows for
// each sequence the model makes most tokens in its time. A row of a guess costs little where the
// model is bound by reading its weights, and as much as a token where it is bound by computing;
// the step from one row to two may cost more than all others. A value; belongs to one thread.
class DraftBudget {
 public:
  struct Choice {
    std::uint32_t rows = 1;  // For each sequence: the known token and guesses behind it.
    double speed = 1;        // So many times as fast as without guesses.
  };

  // For so many sequences, with 1 to `most` rows each. `chances` are those of the sequences for
  // which there are guesses: how likely each of its guesses is right, if those before are.
  // `guess_ns` is what it takes to make a guess more for all of them.
  Choice choose(std::uint32_t sequences, std::uint32_t most, std::span<const double> chances,
                double guess_ns = 0) const;

  // A step without prompts.
  void on_step(std::uint32_t rows, Duration took);

 private:
  RowCosts costs_;
};

}  // namespace seedance::sched
