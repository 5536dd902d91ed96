// The audit log as a file of JSON lines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "io/fd.h"
#include "io/mailbox.h"
#include "io/poller.h"
#include "observe/audit.h"
#include "observe/metric.h"

namespace seedance::server {

// Any thread counts and reads.
struct AuditMetrics {
  observe::SharedCounter written;
  observe::SharedCounter dropped;  // More waited than may, or the file could not be written.
  observe::SharedCounter reopens_failed;
};

// Writes in a thread of its own: nobody waits for the disk, and when it is too slow
// records are dropped and counted. The owner attaches notices() to its poller.
class AuditLog {
 public:
  // Adds to the file, which is made for its owner only where it is missing. At most
  // so many records wait.
  static Result<std::unique_ptr<AuditLog>> open(std::string path, std::size_t waiting_max = 10'000);
  // Writes what waits.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // From any thread.
  void add(observe::AuditRecord record);

  // Goes on in whatever file has the name now: somebody may have moved the old one
  // away. Where that cannot be opened, in the old one. From any thread.
  void reopen();

  const AuditMetrics& metrics() const { return metrics_; }

  // For the operator: that the file cannot be written or opened again, and that it can
  // be. Once for each change, and before the metrics tell it.
  io::Mailbox<std::string>& notices() { return notices_; }

 private:
  struct Reopen {};
  struct Stop {};
  using Command = std::variant<observe::AuditRecord, Reopen, Stop>;

  struct Channels {
    io::Poller poller;
    io::Wakeup inbox;
    io::Wakeup notices;
  };

  AuditLog(std::string path, io::Fd file, Channels channels, std::size_t waiting_max);

  void run();
  bool carry_out(std::vector<Command>& commands);
  void reopen_file();
  void write();
  void tell_write(std::size_t lost, int error);

  const std::string path_;
  AuditMetrics metrics_;
  // Of the thread.
  io::Fd file_;
  io::Poller poller_;
  std::string lines_;
  std::size_t records_ = 0;  // In the lines.
  bool torn_ = false;        // The file ends within a line.
  bool stale_ = false;       // It is not the one that has the name now.
  std::size_t missing_ = 0;  // Records, since it could be written last.

  io::Mailbox<std::string> notices_;
  io::Mailbox<Command> inbox_;
  std::thread thread_;
};

// Prometheus text, as seedance_audit_*.
void append_text(std::string& out, const AuditMetrics& metrics);

}  // namespace seedance::server
