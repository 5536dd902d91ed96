// SIGINT and SIGTERM as something to read.
#pragma once

#include <signal.h>

#include <optional>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// Blocks both signals in the calling thread, and so in the threads it starts
// from then on; open it before any. Destroying it restores what was.
class StopSignals {
 public:
  static Result<StopSignals> open();
  StopSignals(StopSignals&& other) noexcept = default;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

  // Becomes readable when a signal waits.
  const Fd& fd() const { return fd_; }

  // The number of the next signal that has come.
  std::optional<int> next() const;

 private:
  StopSignals(Fd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}

  Fd fd_;
  sigset_t before_;
};

}  // namespace seedance::io
