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
// records are dropped and counted.
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

 private:
  struct Reopen {};
  struct Stop {};
  using Command = std::variant<observe::AuditRecord, Reopen, Stop>;

  AuditLog(std::string path, io::Fd file, io::Poller poller, io::Wakeup wakeup,
           std::size_t waiting_max);

  void run();
  bool carry_out(std::vector<Command>& commands);
  void reopen_file();
  void write();

  const std::string path_;
  AuditMetrics metrics_;
  // Of the thread.
  io::Fd file_;
  io::Poller poller_;
  std::string lines_;
  std::size_t records_ = 0;  // In the lines.
  bool torn_ = false;        // The file ends within a line.

  io::Mailbox<Command> inbox_;
  std::thread thread_;
};

// Prometheus text, as seedance_audit_*.
void append_text(std::string& out, const AuditMetrics& metrics);

}  // namespace seedance::server
