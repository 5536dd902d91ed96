#include "engine/backoff.h"

#include <algorithm>
#include <utility>

namespace seedance::engine {

void Backoff::on_started(TimePoint now) {
  started_ = now;
}

TimePoint Backoff::on_failure(TimePoint now) {
  const bool healthy = started_ != kNever && now - started_ >= limits_.healthy_after;
  started_ = kNever;
  if (worked_ || healthy) failures_ = 0;
  if (std::exchange(worked_, false)) return now;
  Duration wait = limits_.first;
  for (std::uint32_t i = 0; i < failures_ && wait < limits_.longest; ++i) wait *= 2;
  ++failures_;
  return now + std::min(wait, limits_.longest);
}

}  // namespace seedance::engine
