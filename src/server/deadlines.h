// When which connection wants to be looked at.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/time.h"

namespace seedance::server {

// Far deadlines are moved to the next multiple of this, so that thousands of
// heartbeats cost four wakes a second and not thousands.
inline constexpr Duration kCoarseTick = std::chrono::milliseconds{250};
inline constexpr Duration kFar = std::chrono::seconds{1};

// `at`, or a bit later if it is far from `now`.
TimePoint coarse(TimePoint at, TimePoint now);

// A queue of (time, connection). A connection puts in only what is earlier than
// what it has in already, and looks again when its time comes; so a deadline
// that moves further away with every message costs nothing until then.
// Belongs to one thread.
class Deadlines {
 public:
  void push(TimePoint at, ConnectionId connection) { queue_.emplace(at, connection); }

  TimePoint next() const { return queue_.empty() ? kNever : queue_.top().first; }

  // The earliest entry, if its time has come.
  std::optional<std::pair<TimePoint, ConnectionId>> pop(TimePoint now);

 private:
  using Entry = std::pair<TimePoint, ConnectionId>;

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace seedance::server
