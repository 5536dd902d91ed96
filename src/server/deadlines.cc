#include "server/deadlines.h"

namespace seedance::server {

TimePoint coarse(TimePoint at, TimePoint now) {
  if (at == kNever || at - now < kFar) return at;
  const Duration since = at.time_since_epoch();
  const Duration over = since % kCoarseTick;
  return over == Duration::zero() ? at : at + (kCoarseTick - over);
}

std::optional<std::pair<TimePoint, ConnectionId>> Deadlines::pop(TimePoint now) {
  if (queue_.empty() || queue_.top().first > now) return std::nullopt;
  const Entry entry = queue_.top();
  queue_.pop();
  return entry;
}

}  // namespace seedance::server
