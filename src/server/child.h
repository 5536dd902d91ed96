// A child process that is started again when it ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/message.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/backoff.h"
#include "engine/end_cause.h"
#include "io/child_process.h"
#include "io/poller.h"

namespace seedance::server {

// One child and the messages (base/message.h) to and from it. Belongs to the
// core's thread, which passes what the poller says and then takes next() until
// it is empty, and then end().
class Child {
 public:
  // `argv` and `environment` as io::ChildProcess takes them; `socket` and `exit`
  // are its tokens at the poller, which outlives it.
  Child(std::vector<std::string> argv, std::vector<std::string> environment, io::Poller& poller,
        io::Token socket, io::Token exit);

  Result<void> start(TimePoint now);
  bool running() const { return process_.has_value(); }

  void on_ready(const io::Ready& ready, TimePoint now);
  // Starts it again when it is time.
  void on_time(TimePoint now);
  TimePoint deadline() const { return restart_at_; }

  // The next message of the child; valid until the next call.
  std::optional<Bytes> next();

  struct End {
    engine::EndCause cause = engine::EndCause::other;
    std::string text;  // "exited with code 1"
  };

  // Once for each end, behind its last message: why it ended.
  std::optional<End> end();

  // What the child is sent: append messages, then flush(). Without a child they
  // are lost.
  std::string& outbox() { return outbox_; }
  void flush();

  // What it said is what it is there for.
  void on_work() { backoff_.on_work(); }

  // It does what it must not: kill it.
  void kill(std::string reason, engine::EndCause cause = engine::EndCause::other);

  // The next one is started with these.
  void call_next(std::vector<std::string> argv) { argv_ = std::move(argv); }

  // Likewise. Those of before are forgotten with their failures: if there is none now, one is
  // started at `start_at`.
  void replace(std::vector<std::string> argv, TimePoint start_at);

 private:
  void read();
  void on_end(End end, TimePoint now);
  void clear_outbox();

  std::vector<std::string> argv_;
  const std::vector<std::string> environment_;
  io::Poller* poller_;
  const io::Token socket_;
  const io::Token exit_;
  engine::Backoff backoff_{{}};
  std::optional<io::ChildProcess> process_;
  MessageReader reader_;
  std::string outbox_;
  std::size_t sent_ = 0;       // Of it.
  std::optional<End> killed_;  // For what.
  std::optional<End> end_;
  TimePoint restart_at_ = kNever;
  bool hung_up_ = false;
};

// Of a process that ended by itself, or by others.
engine::EndCause cause_of(io::Exit exit);

}  // namespace seedance::server
