#include "server/door.h"

namespace seedance::server {

std::optional<TimePoint> SharedPace::hold_until(std::uint32_t per_second, TimePoint now) {
  if (per_second == 0) return std::nullopt;
  const std::lock_guard lock{mutex_};
  if (bucket_.take(per_second, now)) return std::nullopt;
  return bucket_.ready_at(per_second);
}

void SharedPace::put_back(std::uint32_t per_second) {
  if (per_second == 0) return;
  const std::lock_guard lock{mutex_};
  bucket_.put_back(per_second);
}

}  // namespace seedance::server
