// Listening sockets that a process is handed when it is started, as systemd's
// socket activation does it (sd_listen_fds(3)): they are its descriptors from 3
// on, and LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES say so in its environment.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/child_process.h"
#include "io/fd.h"

namespace seedance::io {

inline constexpr int kFirstListenFd = 3;
inline constexpr std::size_t kListenFdsMax = 64;

struct ListenFds {
  std::vector<Fd> sockets;
  std::string names;  // As in LISTEN_FDNAMES, separated by colons; may be empty.
};

// How many there are for the process `self`, by the values of LISTEN_PID and
// LISTEN_FDS, where they are set: 0 when they are meant for another process.
// Invalid, naming the variable, when they mean nothing.
Result<std::size_t> listen_fd_count(std::optional<std::string_view> listen_pid,
                                    std::optional<std::string_view> listen_fds, pid_t self);

// Those of this process; none when it was handed none. Takes the variables out
// of the environment, and lets no child inherit the sockets: call it once, before
// there are threads.
Result<ListenFds> take_listen_fds();

// A process that was handed sockets, and a socket to its parent.
struct ServiceProcess {
  pid_t pid = 0;
  Fd socket;  // Non-blocking. The other end is the child's descriptor behind the listeners.
};

// Starts argv[0], a path, with `listeners` (at most kListenFdsMax) as above.
//
// It gets a process group of its own, so that what a terminal sends to a group
// reaches this process alone; SIGTERM when this thread ends, whatever ends it;
// and blocked signals as they are here, but SIGCHLD. Signals are thus not lost
// that come before it reads any. If argv[0] cannot be run, it says so on standard
// error and ends with code 1.
Result<ServiceProcess> start_service(const std::vector<std::string>& argv,
                                     const ListenFds& listeners);

// A child of this process that has ended, whoever started it.
struct EndedChild {
  pid_t pid = 0;
  Exit exit;
};

// The next one that has, if any. Not for a process that waits for ChildProcess.
std::optional<EndedChild> reap_child();

}  // namespace seedance::io
