// When a load generator sends: the shape of the load, apart from what carries it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "load/arrivals.h"

namespace seedance::loadgen {

// What is left out of the statistics: the first so many requests, or those that are
// due in the first so much time.
struct Warmup {
  std::uint64_t requests = 0;
  Duration time{};
};

struct Shape {
  // Closed loop: so many requests are in flight all the time.
  std::uint64_t concurrency = 8;
  // Open loop if above 0: so many requests a second are due, whatever the server does.
  double rate = 0;
  // Of the open loop: who is due waits while so many are in flight.
  std::uint64_t in_flight_max = 1024;
  // The run ends when either is reached; 0 = without such a limit.
  std::uint64_t requests = 0;
  Duration duration{};
  Warmup warmup{};

  bool open_loop() const { return rate > 0; }
};

// Decides when the next request is sent. Knows no socket and no clock: the owner
// carries out next() until it gives nothing, says when a request has ended, and comes
// back no later than deadline().
//
// In the open loop a request keeps the time at which it was due, however late it is
// sent: times that are counted from there do not hide what a slow server does to those
// that wait for it (coordinated omission).
class Schedule {
 public:
  // A closed loop's place is taken again only after such a pause when its request
  // failed: a server that is down is not asked as fast as it refuses.
  static constexpr Duration kPauseAfterFailure = std::chrono::milliseconds{100};

  struct Send {
    std::uint64_t number = 0;  // From 0.
    TimePoint due;

    friend bool operator==(const Send&, const Send&) = default;
  };
  enum class Outcome : std::uint8_t { done, failed };

  Schedule(const Shape& shape, std::uint64_t seed, TimePoint start);

  // A request to be sent now.
  std::optional<Send> next(TimePoint now);
  // One of those that were sent has ended.
  void on_end(Outcome outcome, TimePoint now);

  // Nothing more will be sent. Known once next() gave nothing at the end.
  bool over() const { return over_ || all_sent(); }
  TimePoint deadline() const;

  std::uint64_t sent() const { return sent_; }
  std::uint64_t in_flight() const { return in_flight_; }
  std::uint64_t in_flight_max() const;

  // Until when the load was what it is to be: in the closed loop until a request
  // ended that no other followed, in the open loop until the last was sent; at the
  // end of the duration at the latest. kNever while that is not known.
  TimePoint full_until() const { return full_until_; }

  // Of the open loop, once, when it is over: how many were due and were never sent.
  std::uint64_t count_unsent();

 private:
  bool all_sent() const { return shape_.requests > 0 && sent_ == shape_.requests; }
  std::optional<Send> take(TimePoint now);

  Shape shape_;
  Arrivals arrivals_;
  TimePoint start_;
  TimePoint end_ = kNever;
  TimePoint full_until_;
  TimePoint due_;                  // Of the open loop: the next one.
  std::deque<TimePoint> resting_;  // Of the closed loop: when a place is free again.
  std::uint64_t sent_ = 0;
  std::uint64_t in_flight_ = 0;
  bool over_ = false;
};

}  // namespace seedance::loadgen
