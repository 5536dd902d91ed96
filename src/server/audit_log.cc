#include "server/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/clock.h"
#include "io/signals.h"
#include "io/system_error.h"

namespace seedance::server {
namespace {

constexpr io::Token kInbox{0};

io::Fd open_file(const std::string& path) {
  return io::Fd{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)};
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(std::string path, std::size_t waiting_max) {
  io::Fd file = open_file(path);
  if (!file.is_open()) return io::system_failure("audit_log: " + path);
  auto poller = io::Poller::open();
  if (!poller) return std::unexpected(poller.error());
  auto wakeup = io::Wakeup::open();
  if (!wakeup) return std::unexpected(wakeup.error());
  if (auto added = wakeup->attach(*poller, kInbox); !added) return std::unexpected(added.error());
  return std::unique_ptr<AuditLog>{new AuditLog{
      std::move(path), std::move(file), std::move(*poller), std::move(*wakeup), waiting_max}};
}

AuditLog::AuditLog(std::string path, io::Fd file, io::Poller poller, io::Wakeup wakeup,
                   std::size_t waiting_max)
    : path_(std::move(path)),
      file_(std::move(file)),
      poller_(std::move(poller)),
      inbox_(std::move(wakeup), waiting_max) {
  // Signals are other threads' business, even those that nobody handles yet.
  const io::SignalsBlocked blocked;
  thread_ = std::thread{[this] { run(); }};
}

AuditLog::~AuditLog() {
  inbox_.post(Stop{});
  thread_.join();
}

void AuditLog::add(observe::AuditRecord record) {
  if (!inbox_.try_post(std::move(record))) metrics_.dropped.add();
}

void AuditLog::reopen() {
  inbox_.post(Reopen{});
}

void AuditLog::run() {
  std::vector<Command> commands;
  do {
    (void)poller_.wait(kNever);
    inbox_.take(commands);
  } while (carry_out(commands));
}

// False when it is to stop.
bool AuditLog::carry_out(std::vector<Command>& commands) {
  bool goes_on = true;
  for (const Command& command : commands) {
    if (const auto* record = std::get_if<observe::AuditRecord>(&command)) {
      observe::append_line(lines_, *record);
      ++records_;
    } else if (std::holds_alternative<Reopen>(command)) {
      write();
      reopen_file();
    } else {
      goes_on = false;
    }
  }
  write();
  return goes_on;
}

// Where it cannot be opened, the old one goes on, and says so.
void AuditLog::reopen_file() {
  io::Fd file = open_file(path_);
  if (file.is_open()) {
    file_ = std::move(file);
    torn_ = false;
    return;
  }
  metrics_.reopens_failed.add();
  observe::append_line(lines_, {.time = io::wall_now(),
                                .event = observe::AuditEvent::reload,
                                .code = "audit_log_not_opened"});
  ++records_;
}

// All of the lines with one call as a rule: what cannot be written is lost.
void AuditLog::write() {
  if (records_ == 0) return;
  if (torn_) lines_.insert(0, "\n");
  std::string_view rest = lines_;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  const std::string_view taken{lines_.data(), lines_.size() - rest.size()};
  if (!taken.empty()) torn_ = !taken.ends_with('\n');
  std::size_t lost = 0;
  for (const char c : rest) lost += c == '\n' ? 1 : 0;
  lost = std::min(lost, records_);  // The line's end that was missing is no record.
  metrics_.written.add(records_ - lost);
  metrics_.dropped.add(lost);
  lines_.clear();
  records_ = 0;
}

void append_text(std::string& out, const AuditMetrics& metrics) {
  observe::append_counter(out, "seedance_audit_records_total", "Records in the audit log.",
                          metrics.written.value());
  observe::append_counter(out, "seedance_audit_dropped_total",
                          "Records that are missing there: the disk was too slow or full.",
                          metrics.dropped.value());
  observe::append_counter(out, "seedance_audit_reopens_failed_total",
                          "Reloads after which records still go to the old file.",
                          metrics.reopens_failed.value());
}

}  // namespace seedance::server
