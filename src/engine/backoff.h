// When to start a failed engine again.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace seedance::engine {

// At once, when it had done some work. Otherwise waits `first` after a failure, twice
// as long after each further one, up to `longest`; work or a run of `healthy_after`
// forgets the failures before it. Knows no process and no clock: the owner reports
// and asks.
class Backoff {
 public:
  struct Limits {
    Duration first = std::chrono::milliseconds{100};
    Duration longest = std::chrono::seconds{10};
    Duration healthy_after = std::chrono::seconds{60};
  };

  explicit Backoff(Limits limits) : limits_(limits) {}

  void on_started(TimePoint now);

  // It did some of what it is there for since it was started.
  void on_work() { worked_ = true; }

  // Returns when to start again.
  TimePoint on_failure(TimePoint now);

  std::uint32_t failures() const { return failures_; }

 private:
  Limits limits_;
  TimePoint started_ = kNever;
  std::uint32_t failures_ = 0;  // In a row.
  bool worked_ = false;
};

}  // namespace seedance::engine
