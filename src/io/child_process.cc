#include "io/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "io/child_channel.h"
#include "io/system_error.h"

extern char** environ;

namespace seedance::io {
namespace {

// Descriptors and signals of the child: the socket at its number, no signal
// blocked or ignored that this process blocks or ignores.
class SpawnSettings {
 public:
  explicit SpawnSettings(int child_socket) {
    posix_spawn_file_actions_init(&actions_);
    // Also clears close-on-exec, even if the number is right already.
    posix_spawn_file_actions_adddup2(&actions_, child_socket, kChildSocketFd);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kChildSocketFd + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Borrows both; ends with a null pointer.
std::vector<char*> joined_environment(const std::vector<std::string>& added) {
  std::vector<char*> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.push_back(*entry);
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('='));
    if (getenv(name.c_str()) == nullptr) all.push_back(const_cast<char*>(entry.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

std::optional<Exit> wait_for(pid_t pid, int options) {
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(pid, &status, options);
  while (ended < 0 && errno == EINTR);
  if (ended != pid) return std::nullopt;
  if (WIFSIGNALED(status)) return Exit{.signal = WTERMSIG(status)};
  return Exit{.code = WEXITSTATUS(status)};
}

}  // namespace

std::string to_text(Exit exit) {
  if (exit.signal == 0) return fmt::format("exited with code {}", exit.code);
  return fmt::format("was killed by signal {} ({})", exit.signal, strsignal(exit.signal));
}

Result<ChildProcess> ChildProcess::spawn(const std::vector<std::string>& argv,
                                         const std::vector<std::string>& environment) {
  auto channel = ChildChannel::open();
  if (!channel) return std::unexpected(channel.error());
  std::vector<char*> arguments = exec_arguments(argv);
  if (argv.front() == kOwnProgram) arguments.front() = program_invocation_short_name;
  const std::vector<char*> variables = joined_environment(environment);
  const SpawnSettings settings{channel->theirs.get()};
  pid_t pid = -1;
  errno = posix_spawn(&pid, argv.front().c_str(), settings.actions(), settings.attributes(),
                      arguments.data(), variables.data());
  if (errno != 0) return system_failure(fmt::format("cannot start {}", argv.front()));
  Fd pid_fd{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
  ChildProcess child{std::move(channel->ours), std::move(pid_fd), pid};
  if (!child.pid_fd_.is_open()) return system_failure("pidfd_open");
  return child;
}

ChildProcess::~ChildProcess() {
  if (pid_fd_.is_open() || socket_.is_open()) {  // Not moved from.
    if (!exit()) {
      kill();
      exit_ = wait_for(pid_, 0);
    }
  }
}

std::optional<Exit> ChildProcess::exit() {
  if (!exit_) exit_ = wait_for(pid_, WNOHANG);
  return exit_;
}

void ChildProcess::kill() const {
  if (!exit_) ::kill(pid_, SIGKILL);
}

}  // namespace seedance::io
