#include "io/listen_fds.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "io/child_channel.h"
#include "io/system_error.h"

namespace seedance::io {
namespace {

constexpr const char* kPid = "LISTEN_PID";
constexpr const char* kFds = "LISTEN_FDS";
constexpr const char* kNames = "LISTEN_FDNAMES";
constexpr int kCannotRun = 1;

Result<std::int64_t> number(const char* variable, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return fail(Errc::invalid, fmt::format("{}: \"{}\" is no number", variable, text));
  }
  return value;
}

std::optional<std::string_view> variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>{value};
}

// Everything that follows runs in the child between fork() and exec. The parent
// has one thread, so the child may do what it likes.

void put(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
}

// Puts the descriptors at kFirstListenFd and behind, and closes all others.
bool place(const std::vector<int>& fds) {
  const int behind = kFirstListenFd + static_cast<int>(fds.size());
  std::vector<int> copies;  // Out of the way of each other's place.
  copies.reserve(fds.size());
  for (const int fd : fds) copies.push_back(fcntl(fd, F_DUPFD, behind));
  int at = kFirstListenFd;
  for (const int copy : copies) {
    if (copy < 0 || dup2(copy, at++) < 0) return false;
  }
  closefrom(behind);
  return true;
}

[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<int>& fds,
                         const std::string& names, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCannotRun);
  setpgid(0, 0);
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  pthread_sigmask(SIG_UNBLOCK, &ended, nullptr);
  put(kPid, std::to_string(getpid()));
  put(kFds, std::to_string(fds.size() - 1));  // The last one is no listener.
  put(kNames, names);
  if (place(fds)) execv(argv.front(), argv.data());
  const std::string line =
      fmt::format("seedance: cannot run {}: {}\n", argv.front(), strerror(errno));
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  _exit(kCannotRun);
}

}  // namespace

Result<std::size_t> listen_fd_count(std::optional<std::string_view> listen_pid,
                                    std::optional<std::string_view> listen_fds, pid_t self) {
  if (!listen_pid || !listen_fds) return 0;
  const auto pid = number(kPid, *listen_pid);
  if (!pid) return std::unexpected(pid.error());
  if (*pid != self) return 0;
  const auto count = number(kFds, *listen_fds);
  if (!count) return std::unexpected(count.error());
  if (*count > static_cast<std::int64_t>(kListenFdsMax)) {
    return fail(Errc::invalid, fmt::format("{}: {} are at most {}", kFds, *count, kListenFdsMax));
  }
  return static_cast<std::size_t>(*count);
}

Result<ListenFds> take_listen_fds() {
  const auto count = listen_fd_count(variable(kPid), variable(kFds), getpid());
  if (!count) return std::unexpected(count.error());
  ListenFds out{.sockets = {}, .names = std::string{variable(kNames).value_or("")}};
  for (const char* name : {kPid, kFds, kNames}) unsetenv(name);
  for (int fd = kFirstListenFd; out.sockets.size() < *count; ++fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return fail(Errc::invalid,
                  fmt::format("{}: {}, but descriptor {} is not open", kFds, *count, fd));
    }
    out.sockets.emplace_back(fd);
  }
  return out;
}

Result<ServiceProcess> start_service(const std::vector<std::string>& argv,
                                     const ListenFds& listeners) {
  SEEDANCE_CHECK(listeners.sockets.size() <= kListenFdsMax, "no more sockets than are taken");
  auto channel = ChildChannel::open();
  if (!channel) return std::unexpected(channel.error());
  const std::vector<char*> arguments = exec_arguments(argv);
  std::vector<int> fds;
  fds.reserve(listeners.sockets.size() + 1);
  for (const Fd& socket : listeners.sockets) fds.push_back(socket.get());
  fds.push_back(channel->theirs.get());

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return system_failure("fork");
  if (pid == 0) become(arguments, fds, listeners.names, parent);
  return ServiceProcess{.pid = pid, .socket = std::move(channel->ours)};
}

std::optional<EndedChild> reap_child() {
  int status = 0;
  pid_t pid = 0;
  do pid = waitpid(-1, &status, WNOHANG);
  while (pid < 0 && errno == EINTR);
  if (pid <= 0) return std::nullopt;
  if (WIFSIGNALED(status)) return EndedChild{pid, {.signal = WTERMSIG(status)}};
  return EndedChild{pid, {.code = WEXITSTATUS(status)}};
}

}  // namespace seedance::io
