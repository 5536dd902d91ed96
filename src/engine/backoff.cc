#include "engine/backoff.h"

#include <algorithm>

namespace seedance::engine {

void Backoff::on_started(TimePoint now) {
  started_ = now;
}

TimePoint Backoff::on_failure(TimePoint now) {
  if (started_ != kNever && now - started_ >= limits_.healthy_after) failures_ = 0;
  started_ = kNever;
  Duration wait = limits_.first;
  for (std::uint32_t i = 0; i < failures_ && wait < limits_.longest; ++i) wait *= 2;
  ++failures_;
  return now + std::min(wait, limits_.longest);
}

}  // namespace seedance::engine
