// A child process that talks to its parent over a socket.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// How a process ended: by itself with a code, or by a signal.
struct Exit {
  int code = 0;    // Only when signal is 0.
  int signal = 0;  // 0 = none.

  friend bool operator==(Exit, Exit) = default;
};

// "exited with code 2", "was killed by signal 9 (Killed)".
std::string to_text(Exit exit);

// The descriptor at which a child finds its socket.
inline constexpr int kChildSocketFd = 3;

// The program that runs here, whatever has become of its file.
inline constexpr const char* kOwnProgram = "/proc/self/exe";

// A running child. It has standard input, output and error of its parent and
// the socket; no other descriptor. It must end by itself when the socket does.
// Destroying this kills it and waits for its end. Spawn from a thread that
// lives as long as the child may: PR_SET_PDEATHSIG is bound to that thread.
class ChildProcess {
 public:
  // argv[0] is the path of the program; kOwnProgram is shown by its name. `environment`
  // ("NAME=value") is added to ours where that has no such name. Error: it cannot be started.
  static Result<ChildProcess> spawn(const std::vector<std::string>& argv,
                                    const std::vector<std::string>& environment = {});
  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  // The parent's end, non-blocking.
  const Fd& socket() const { return socket_; }
  // Becomes readable when the process has ended.
  const Fd& exit_event() const { return pid_fd_; }
  pid_t pid() const { return pid_; }

  // How it ended, once it has.
  std::optional<Exit> exit();

  // SIGKILL; its end is reported as any other.
  void kill() const;

 private:
  ChildProcess(Fd socket, Fd pid_fd, pid_t pid)
      : socket_(std::move(socket)), pid_fd_(std::move(pid_fd)), pid_(pid) {}

  Fd socket_;
  Fd pid_fd_;
  pid_t pid_;
  std::optional<Exit> exit_;
};

}  // namespace seedance::io
