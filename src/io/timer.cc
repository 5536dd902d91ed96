#include "io/timer.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "io/system_error.h"

namespace seedance::io {

Result<Timer> Timer::open() {
  // The steady clock is this one.
  Fd timer{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  if (!timer.is_open()) return system_failure("timerfd_create");
  return Timer{std::move(timer)};
}

void Timer::set(TimePoint at) {
  if (at == at_) return;
  at_ = at;
  itimerspec when{};  // All zero: never.
  if (at != kNever) {
    const auto ns = std::max<std::int64_t>(at.time_since_epoch().count(), 1);
    when.it_value.tv_sec = ns / 1'000'000'000;
    when.it_value.tv_nsec = ns % 1'000'000'000;
  }
  // Edge-triggered pollers see every expiry, so nobody has to read the count.
  SEEDANCE_CHECK(timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0,
                 "an open timer takes a time");
}

}  // namespace seedance::io
