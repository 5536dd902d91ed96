#include "server/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
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
  auto inbox = io::Wakeup::open();
  if (!inbox) return std::unexpected(inbox.error());
  auto notices = io::Wakeup::open();
  if (!notices) return std::unexpected(notices.error());
  if (auto added = inbox->attach(*poller, kInbox); !added) return std::unexpected(added.error());
  Channels channels{
      .poller = std::move(*poller), .inbox = std::move(*inbox), .notices = std::move(*notices)};
  return std::unique_ptr<AuditLog>{
      new AuditLog{std::move(path), std::move(file), std::move(channels), waiting_max}};
}

AuditLog::AuditLog(std::string path, io::Fd file, Channels channels, std::size_t waiting_max)
    : path_(std::move(path)),
      file_(std::move(file)),
      poller_(std::move(channels.poller)),
      notices_(std::move(channels.notices), 0),
      inbox_(std::move(channels.inbox), waiting_max) {
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
    if (std::exchange(stale_, false)) notices_.post("the audit log is open again: " + path_);
    return;
  }
  const std::string why = io::system_failure(path_).error().detail;
  if (!std::exchange(stale_, true)) {
    notices_.post("the audit log cannot be opened again; the old file goes on: " + why);
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
  int error = 0;
  std::string_view rest = lines_;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error = count < 0 ? errno : ENOSPC;
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  const std::string_view taken{lines_.data(), lines_.size() - rest.size()};
  if (!taken.empty()) torn_ = !taken.ends_with('\n');
  std::size_t lost = 0;
  for (const char c : rest) lost += c == '\n' ? 1 : 0;
  lost = std::min(lost, records_);  // The line's end that was missing is no record.
  tell_write(lost, error);
  metrics_.written.add(records_ - lost);
  metrics_.dropped.add(lost);
  lines_.clear();
  records_ = 0;
}

void AuditLog::tell_write(std::size_t lost, int error) {
  const std::size_t before = std::exchange(missing_, lost > 0 ? missing_ + lost : 0);
  if (lost == 0 && before > 0) {
    notices_.post(fmt::format("the audit log is written again; {} records are missing", before));
  } else if (lost > 0 && before == 0) {
    errno = error;
    notices_.post("the audit log cannot be written; records are lost: " +
                  io::system_failure(path_).error().detail);
  }
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
