#include "engine/watchdog.h"

#include <utility>

namespace seedance::engine {

void Watchdog::on_started(TimePoint now) {
  loading_ = true;
  owed_ = 0;
  since_ = now;
}

void Watchdog::on_owed(std::size_t owed, TimePoint now) {
  if (std::exchange(owed_, owed) == 0 && !loading_) since_ = now;
}

void Watchdog::on_ended() {
  loading_ = false;
  owed_ = 0;
}

TimePoint Watchdog::deadline() const {
  if (!loading_ && owed_ == 0) return kNever;
  return limit() > Duration::zero() ? since_ + limit() : kNever;
}

}  // namespace seedance::engine
