// When an engine is started with other settings, because with these it fails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/end_cause.h"

namespace seedance::engine {

// Walks a chain of settings, one rung after another, as engines end.
//
// An engine that says that it has no memory, or aborts while it loads, does so again with
// the same settings: one such end is enough. One that is killed, or hangs while it loads,
// may have had bad luck: two in a row. What happens while it runs may be the fault of one
// request, which whoever redrives the streams finds out; three in a row without a token
// are taken for the engine's.
//
// Where the chain is spent and engines still die without a token until the request that
// they died of is found out, no rung was of use: the next one has the settings of the
// start again, so that a request which kills engines costs nobody else their speed. Where not
// even the last rung can be loaded, it begins anew: what is missing now, the next walk may find.
//
// Knows no settings, process or clock. The owner reports what happened, in order.
class Fallback {
 public:
  enum class Move : std::uint8_t {
    stay,
    down,   // The next engine has the settings of rung(); nobody else is to blame.
    back,   // It has those of the start.
    spent,  // Likewise, since the last rung could not be loaded: later, and not at once.
  };

  // `given_up_after` deaths in a row at most, a request that died alone is not tried again.
  Fallback(std::size_t rungs, std::uint32_t given_up_after)
      : rungs_(rungs), given_up_after_(given_up_after) {}

  void on_ready();
  void on_work() { run_deaths_ = 0; }  // It made a token.
  Move on_end(EndCause cause);

  // 0 = the settings of the start.
  std::size_t rung() const { return rung_; }
  std::size_t rungs() const { return rungs_; }

 private:
  const std::size_t rungs_;
  const std::uint32_t given_up_after_;
  std::size_t rung_ = 0;
  bool loading_ = true;
  // In a row.
  std::uint32_t load_deaths_ = 0;
  std::uint32_t run_deaths_ = 0;
};

}  // namespace seedance::engine
