// When the supervisor starts the server, and when it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "base/time.h"
#include "io/child_process.h"

namespace seedance::apps {

// Decides for `seedance serve`: knows no process and no clock. The owner reports
// what happened (on_*), then carries out next() until it is empty, and comes back
// no later than deadline().
//
// A server that fails is started again: at once after a long run, after growing
// pauses when it fails again and again. What must not run for ever is a server
// that never gets ready: the first one ends the supervisor when it refuses its
// settings, and any when it fails several times in a row.
class SupervisorPlan {
 public:
  struct Limits {
    std::uint32_t failed_starts_max = 5;  // Before it was ready, in a row.
    Duration first_pause = std::chrono::milliseconds{100};
    Duration longest_pause = std::chrono::seconds{1};
    Duration long_run = std::chrono::seconds{10};  // Since it was ready.
  };

  struct Start {};
  struct Send {  // To the server that runs.
    int signal = 0;
  };
  struct Say {  // To the operator.
    std::string line;
  };
  struct End {  // Nothing follows.
    int code = 0;
  };
  using Step = std::variant<Start, Send, Say, End>;

  // Its first step is a Start.
  explicit SupervisorPlan(Limits limits);

  // SIGINT and SIGTERM end the server and then the supervisor, SIGUSR2 puts a new
  // server in the place of the one that runs, SIGHUP is the server's own affair.
  void on_signal(int number, TimePoint now);
  void on_ready(TimePoint now);
  void on_end(io::Exit exit, TimePoint now);
  void on_time(TimePoint now);
  TimePoint deadline() const { return start_at_; }

  std::optional<Step> next();

 private:
  void start();
  void fail(io::Exit exit, TimePoint now);

  const Limits limits_;
  std::deque<Step> steps_;
  bool running_ = false;
  bool stopping_ = false;
  bool replacing_ = false;
  bool ever_ready_ = false;
  std::optional<TimePoint> ready_at_;  // Of the server that runs.
  TimePoint start_at_ = kNever;
  std::uint32_t failures_ = 0;       // In a row, without a long run between them.
  std::uint32_t failed_starts_ = 0;  // In a row.
};

}  // namespace seedance::apps
