// One process at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// A lock on a file, which is made where it is missing and stays. It holds the
// number of the process, for who asks. Whatever ends the process releases it. Of
// the open file, not of the process: a second taker in the same process is
// refused as well.
class FileLock {
 public:
  // Invalid when another holds it: holder() says who.
  static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;
  ~FileLock();

  // The process that holds it, or 0 when that is unknown; nothing when none does.
  // Takes nothing itself.
  static std::optional<pid_t> holder(const std::string& path);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace seedance::io
