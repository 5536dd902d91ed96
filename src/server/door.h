// What all edges know together of who comes in.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/time.h"
#include "base/token_bucket.h"
#include "server/shares.h"

namespace seedance::server {

// A token bucket that any thread may take from.
class SharedPace {
 public:
  // Takes one, or says when to come again.
  std::optional<TimePoint> hold_until(std::uint32_t per_second, TimePoint now);
  void put_back(std::uint32_t per_second);

 private:
  std::mutex mutex_;
  TokenBucket bucket_;
};

// One for all edges. Any thread asks.
struct Door {
  SharedPace accepts;
  Shares addresses;
  Shares tenants;  // Of WebSockets.
};

}  // namespace seedance::server
