// When a process that owes something is stuck.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace seedance::engine {

// A process is stuck when it says nothing for `load` while it loads, or for `step` while
// it owes something; whatever it says counts. 0 = never. Knows no process and no clock:
// the owner reports, and acts when deadline() has passed.
class Watchdog {
 public:
  struct Limits {
    Duration load{};
    Duration step{};
  };

  explicit Watchdog(Limits limits) : limits_(limits) {}

  void on_started(TimePoint now);  // It loads.
  void on_ready() { loading_ = false; }
  void on_heard(TimePoint now) { since_ = now; }
  // So many jobs, or requests, are not done.
  void on_owed(std::size_t owed, TimePoint now);
  void on_ended();

  TimePoint deadline() const;

  bool loading() const { return loading_; }
  std::size_t owed() const { return owed_; }
  Duration limit() const { return loading_ ? limits_.load : limits_.step; }

 private:
  Limits limits_;
  bool loading_ = false;
  std::size_t owed_ = 0;
  TimePoint since_{};  // It was heard, or began to owe.
};

}  // namespace seedance::engine
