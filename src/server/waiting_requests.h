// Requests of one connection that wait until others of it have ended.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "api/native.h"
#include "base/id.h"
#include "base/time.h"

namespace seedance::server {

// In the order in which they came. Knows what each takes of memory, not how many may wait.
// Owned by a connection, which has none while nothing waits; belongs to its thread.
class WaitingRequests {
 public:
  struct Waiting {
    StreamId stream;
    TimePoint arrived;
    TimePoint start_by;  // To be running by.
    std::uint64_t bytes = 0;
    api::InferRequest request;
  };

  // Of memory, about.
  static std::uint64_t bytes_of(const api::InferRequest& request);

  // `wait_max` is for a request that names no deadline of its own.
  void add(StreamId stream, api::InferRequest request, Duration wait_max, TimePoint now);

  // The first one; it is there.
  Waiting take();
  std::optional<Waiting> take(std::string_view id);
  // One whose time is over.
  std::optional<Waiting> take_late(TimePoint now);

  bool contains(std::string_view id) const;
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  // When the next one is late.
  TimePoint deadline() const { return deadline_; }

 private:
  using At = std::deque<Waiting>::iterator;

  Waiting take(const At& at);

  std::deque<Waiting> waiting_;
  std::uint64_t bytes_ = 0;
  TimePoint deadline_ = kNever;
};

}  // namespace seedance::server
