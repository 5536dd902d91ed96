// Whose turn it is where not all can be computed in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/priority.h"

namespace seedance::sched {

// The weights of a model are changed by one adapter at a time, or by none, which is number 0.
// So each step computes the jobs of one adapter.
//
// Turns go round among those that have work: nobody waits for more steps than there are
// others. A prompt of a higher class than anybody has whose turn it is goes ahead, but only in
// every second step: so nobody waits longer than twice that. A value; belongs to one thread.
class Turns {
 public:
  // What an adapter has to do.
  struct Claim {
    std::uint32_t adapter = 0;
    Priority highest = Priority::batch;           // Class of all its jobs.
    std::optional<Priority> highest_prompt = {};  // Of those that wait for their next token.
  };
  struct Turn {
    std::uint32_t adapter = 0;
    bool ahead = false;  // It is another's.
  };

  // There is at least one claim, and one of each adapter.
  Turn next(std::span<const Claim> claims) const;

  // A step was computed.
  void on_taken(Turn turn);

 private:
  std::uint64_t taken_at(std::uint32_t adapter) const;

  std::vector<std::uint64_t> taken_at_;  // By adapter: the last step that was its own.
  std::uint64_t steps_ = 0;
  bool ahead_ = false;  // The last one was.
};

}  // namespace seedance::sched
