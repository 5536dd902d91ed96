#include "apps/supervise.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/command.h"
#include "apps/files.h"
#include "apps/supervisor_plan.h"
#include "io/clock.h"
#include "io/poller.h"
#include "io/signals.h"

namespace seedance::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kArgumentBytesMax = std::size_t{8} << 20;  // More than the kernel takes.
constexpr const char* kRunning = "/proc/self/exe";
constexpr io::Token kSignals{0};

class Supervisor {
 public:
  Supervisor(const std::vector<std::string>& arguments, const io::ListenFds& listeners,
             io::Signals signals, io::Poller poller)
      : arguments_(arguments),
        listeners_(listeners),
        signals_(std::move(signals)),
        poller_(std::move(poller)) {}

  int run() {
    for (;;) {
      while (auto step = plan_.next()) std::visit([this](auto& one) { carry_out(one); }, *step);
      if (code_) return *code_;
      const auto ready = poller_.wait(plan_.deadline());
      const TimePoint now = io::now();
      for (const io::Ready& one : ready) {
        if (one.token != kSignals) listen_to_server(now);
      }
      while (const auto number = signals_.next()) on_signal(*number, now);
      plan_.on_time(now);
    }
  }

 private:
  void carry_out(SupervisorPlan::Start) {
    auto started = io::start_service(arguments_, listeners_);
    if (!started) {
      complain(kFailed, started.error().detail);
      return plan_.on_end({.code = kFailed}, io::now());
    }
    server_ = *std::move(started);
    (void)poller_.add(server_->socket, {++starts_});  // Else it is asked when the server ends.
  }
  void carry_out(SupervisorPlan::Send send) {
    if (server_) (void)kill(server_->pid, send.signal);
  }
  void carry_out(const SupervisorPlan::Say& say) { complain(kFailed, say.line); }
  void carry_out(SupervisorPlan::End end) { code_ = end.code; }

  void on_signal(int number, TimePoint now) {
    if (number != SIGCHLD) return plan_.on_signal(number, now);
    // It inherits the children of others too.
    while (const auto ended = io::reap_child()) {
      if (!server_ || ended->pid != server_->pid) continue;
      listen_to_server(now);  // What it said last.
      server_.reset();
      plan_.on_end(ended->exit, now);
    }
  }

  // All that a server ever says is that it is ready.
  void listen_to_server(TimePoint now) {
    std::array<std::byte, 16> said;
    if (server_ && io::receive(server_->socket, said).bytes > 0) plan_.on_ready(now);
  }

  const std::vector<std::string> arguments_;
  const io::ListenFds& listeners_;
  const io::Signals signals_;
  io::Poller poller_;
  SupervisorPlan plan_{{}};
  std::optional<io::ServiceProcess> server_;
  std::uint64_t starts_ = 0;
  std::optional<int> code_;
};

// Where the shell would find it.
std::string found_in_path(const std::string& name) {
  const char* path = getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

}  // namespace

std::string program_path(const std::string& name) {
  std::error_code failed;
  const std::string called = name.find('/') == std::string::npos ? found_in_path(name) : name;
  if (!called.empty() && fs::equivalent(called, kRunning, failed)) {
    const fs::path path = fs::absolute(called, failed);
    if (!failed) return path.string();
  }
  const fs::path running = fs::read_symlink(kRunning, failed);
  return failed ? kRunning : running.string();
}

std::vector<std::string> own_arguments() {
  const auto text = read_file("/proc/self/cmdline", kArgumentBytesMax);
  std::vector<std::string> out;
  std::string_view rest = text ? std::string_view{*text} : std::string_view{};
  while (!rest.empty()) {  // Each ends with a zero byte.
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::vector<std::string> server_arguments(const std::vector<std::string>& arguments, int fd,
                                          std::uint16_t port) {
  std::vector<std::string> out{
      program_path(arguments.at(0)), arguments.at(1),     kSupervisedFlag, std::to_string(fd),
      kSupervisedPortFlag,           std::to_string(port)};
  out.insert(out.end(), arguments.begin() + 2, arguments.end());
  return out;
}

int supervise(const io::ListenFds& listeners, std::uint16_t port) {
  const std::vector<std::string> arguments = own_arguments();
  if (arguments.size() < 2) return complain(kFailed, "the supervisor needs /proc");
  auto poller = io::Poller::open();
  if (!poller) return complain(kFailed, poller.error().detail);
  auto signals = io::Signals::open({SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGCHLD});
  if (!signals) return complain(kFailed, signals.error().detail);
  if (const auto added = poller->add(signals->fd(), kSignals); !added) {
    return complain(kFailed, added.error().detail);
  }
  // Workers that lost their server end up here, where they are reaped.
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int fd = io::kFirstListenFd + static_cast<int>(listeners.sockets.size());
  Supervisor supervisor{server_arguments(arguments, fd, port), listeners, *std::move(signals),
                        *std::move(poller)};
  return supervisor.run();
}

}  // namespace seedance::apps
