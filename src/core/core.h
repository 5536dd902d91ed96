// The core: owns the streams.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/messages.h"
#include "core/stats.h"

namespace seedance::core {

struct Limits {
  std::uint32_t streams_queued_max = 1024;  // Per model: accepted, not yet in the engine.
  std::uint32_t prepares_max = 256;         // Per model: requests at the vocabulary process.
  Duration queue_wait_max = std::chrono::seconds{60};  // Deadline of a request that names none.
  Duration orphan_ttl = std::chrono::seconds{10};
  Duration detach_ttl = std::chrono::seconds{300};
  std::uint32_t edges_max = 64;
};

struct ModelConfig {
  std::string name;
  std::uint32_t version = 1;
};

// Streams' lives: admits requests, has them prepared, queues them, gives jobs to
// engines, turns steps into committed records, ends every stream exactly once.
//
// Sans-IO: the owner passes each message with the time, then carries out next()
// until it is empty, and comes back no later than deadline(). Knows no socket,
// process or client format. Belongs to one thread; the logs that it hands out
// may be read from others.
class Core {
 public:
  Core(Limits limits, std::vector<ModelConfig> models);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void on_message(Message message, TimePoint now);
  void on_time(TimePoint now);

  // The next effect to carry out, in order. Wakes come last and merged: one for
  // each edge, so several messages may be passed before a drain.
  std::optional<Effect> next();

  TimePoint deadline() const;

  // Every engine has said Ready and is up.
  bool ready() const;
  // Draining, and no stream is left.
  bool drained() const;
  std::size_t streams_active() const;

  // May be read from any thread.
  const Stats& stats() const { return stats_; }

 private:
  struct Stream;
  struct Model;

  Stats stats_;
};

}  // namespace seedance::core
