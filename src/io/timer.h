// A time to be woken at that is finer than the poller's milliseconds.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "io/fd.h"
#include "io/poller.h"

namespace seedance::io {

// Its token is reported as readable when the time has come. Belongs to one thread.
class Timer {
 public:
  static Result<Timer> open();

  Result<void> attach(Poller& poller, Token token) { return poller.add(timer_, token); }

  // Instead of what was set before; at once if it is past, not at all for kNever.
  void set(TimePoint at);

 private:
  explicit Timer(Fd timer) : timer_(std::move(timer)) {}

  Fd timer_;
  TimePoint at_ = kNever;
};

}  // namespace seedance::io
