// Signals as something to read.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// Blocks the signals in the calling thread, and so in the threads it starts from
// then on; open it before any. Those that came while they were blocked already
// are read too. Destroying it restores what was.
class Signals {
 public:
  static Result<Signals> open(std::initializer_list<int> numbers);
  Signals(Signals&& other) noexcept = default;
  Signals& operator=(Signals&&) = delete;
  ~Signals();

  // Becomes readable when a signal waits.
  const Fd& fd() const { return fd_; }

  // The number of the next signal that has come. A SIGHUP that says that the
  // terminal is gone, to which this process wrote its errors, is given as SIGTERM.
  std::optional<int> next() const;

 private:
  Signals(Fd fd, const sigset_t& before);

  Fd fd_;
  sigset_t before_;
  bool had_terminal_;
};

// While it lives, no signal reaches the calling thread, nor ever a thread that was started
// meanwhile: for threads that may be older than Signals. Restores what was.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace seedance::io
