#include "server/audit_log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "io/file_system.h"
#include "io/test_directory.h"

namespace seedance::server {
namespace {

using observe::AuditEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AuditLogTest : public testing::Test {
 protected:
  std::string text(const std::string& path) const { return io::read_file(path).value(); }
  static std::ptrdiff_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

  static std::vector<std::string> notices(AuditLog& log) {
    std::vector<std::string> out;
    log.notices().take(out);
    return out;
  }
  // Adds so many records, one by one, and waits until each is written or lost.
  static void add(AuditLog& log, std::uint64_t count) {
    const auto done = [&] { return log.metrics().written.value() + log.metrics().dropped.value(); };
    const std::uint64_t until = done() + count;
    while (done() < until) {
      const std::uint64_t before = done();
      log.add({.tenant = "acme"});
      while (done() == before) std::this_thread::yield();
    }
  }

  const io::TestDirectory directory_;
  const std::string path_ = directory_.path() + "/audit.jsonl";
};

TEST_F(AuditLogTest, WritesWhatWaitsBeforeItEnds) {
  for (int run = 1; run <= 2; ++run) {
    auto log = AuditLog::open(path_);
    ASSERT_TRUE(log) << log.error().detail;
    for (int i = 0; i < 100; ++i) (*log)->add({.event = AuditEvent::cancel, .tenant = "acme"});
    log->reset();
    EXPECT_EQ(lines(text(path_)), 100 * run) << "the next run adds to it";
  }
  EXPECT_THAT(text(path_), HasSubstr(R"("event":"cancel","tenant":"acme"})"));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(AuditLogTest, GoesOnInANewFileWhenTheOldOneWasMoved) {
  auto log = AuditLog::open(path_);
  ASSERT_TRUE(log) << log.error().detail;
  (*log)->add({.tenant = "before"});
  std::filesystem::rename(path_, path_ + ".1");
  (*log)->reopen();
  (*log)->add({.tenant = "after"});
  log->reset();
  EXPECT_THAT(text(path_ + ".1"), HasSubstr("before"));
  EXPECT_EQ(lines(text(path_ + ".1")), 1);
  EXPECT_THAT(text(path_), HasSubstr("after"));
  EXPECT_EQ(lines(text(path_)), 1);
}

TEST_F(AuditLogTest, SaysThatTheFileCouldNotBeOpenedAgain) {
  std::filesystem::create_directory(directory_.path() + "/logs");
  const std::string path = directory_.path() + "/logs/audit";
  auto log = AuditLog::open(path);
  ASSERT_TRUE(log) << log.error().detail;
  std::filesystem::rename(directory_.path() + "/logs", directory_.path() + "/moved");
  (*log)->reopen();
  (*log)->add({.tenant = "acme"});
  AuditLog& one = **log;
  while (one.metrics().written.value() < 2) std::this_thread::yield();
  EXPECT_EQ(one.metrics().reopens_failed.value(), 1U);
  EXPECT_THAT(text(directory_.path() + "/moved/audit"),
              AllOf(HasSubstr("audit_log_not_opened"), HasSubstr("acme")));
}

// Of every thread of this process but the first.
std::vector<std::uint64_t> blocked_signals() {
  std::vector<std::uint64_t> out;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::ifstream status{task.path() / "status"};
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with("SigBlk:")) out.push_back(std::stoull(line.substr(7), nullptr, 16));
    }
  }
  return out;
}

// It is there before anybody handles signals.
TEST_F(AuditLogTest, ItsThreadIsKilledByNoSignal) {
  const auto log = AuditLog::open(path_);
  ASSERT_TRUE(log) << log.error().detail;
  (*log)->add({.tenant = "acme"});  // A thread has its own mask once it runs.
  while ((*log)->metrics().written.value() < 1) std::this_thread::yield();
  const auto blocked = blocked_signals();
  ASSERT_FALSE(blocked.empty());
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR2}) {
    for (const std::uint64_t mask : blocked) {
      EXPECT_NE(mask & (std::uint64_t{1} << (signal - 1)), 0U) << signal;
    }
  }
}

TEST_F(AuditLogTest, DropsAndCountsWhatHasNoRoom) {
  auto log = AuditLog::open(path_, 0);
  ASSERT_TRUE(log) << log.error().detail;
  (*log)->add({.tenant = "acme"});
  EXPECT_EQ((*log)->metrics().dropped.value(), 1U);
  log->reset();
  EXPECT_EQ(text(path_), "");
}

TEST_F(AuditLogTest, CountsWhatTheDiskDoesNotTake) {
  auto log = AuditLog::open("/dev/full");
  ASSERT_TRUE(log) << log.error().detail;
  AuditLog& full = **log;
  full.add({.tenant = "acme"});
  full.add({.tenant = "acme"});
  while (full.metrics().dropped.value() < 2) std::this_thread::yield();
  EXPECT_EQ(full.metrics().written.value(), 0U);
  std::string metrics;
  append_text(metrics, full.metrics());
  EXPECT_THAT(metrics, HasSubstr("seedance_audit_dropped_total 2\n"));
}

TEST_F(AuditLogTest, TellsTheOperatorOnceThatItCannotBeWrittenAndOnceThatItIsAgain) {
  std::filesystem::create_symlink("/dev/full", path_);
  auto log = AuditLog::open(path_);
  ASSERT_TRUE(log) << log.error().detail;
  add(**log, 3);
  EXPECT_THAT(notices(**log), ElementsAre("the audit log cannot be written; records are lost: " +
                                          path_ + ": No space left on device"));
  std::filesystem::remove(path_);
  (*log)->reopen();
  add(**log, 2);
  EXPECT_THAT(notices(**log), ElementsAre("the audit log is written again; 3 records are missing"));
}

TEST_F(AuditLogTest, TellsTheOperatorOnceThatItCannotBeOpenedAgainAndOnceThatItIs) {
  const std::string logs = directory_.path() + "/logs";
  std::filesystem::create_directory(logs);
  auto log = AuditLog::open(logs + "/audit");
  ASSERT_TRUE(log) << log.error().detail;
  std::filesystem::rename(logs, directory_.path() + "/moved");
  for (int i = 0; i < 2; ++i) {
    (*log)->reopen();
    while ((*log)->metrics().reopens_failed.value() == static_cast<std::uint64_t>(i)) {
      std::this_thread::yield();
    }
  }
  EXPECT_THAT(notices(**log),
              ElementsAre("the audit log cannot be opened again; the old file goes on: " + logs +
                          "/audit: No such file or directory"));
  std::filesystem::create_directory(logs);
  (*log)->reopen();
  const AuditLog& one = **log;
  (*log)->add({.tenant = "acme"});
  while (one.metrics().written.value() < 3) std::this_thread::yield();
  EXPECT_THAT(notices(**log), ElementsAre("the audit log is open again: " + logs + "/audit"));
  EXPECT_EQ(lines(text(logs + "/audit")), 1);
}

TEST_F(AuditLogTest, NamesAFileThatCannotBeOpened) {
  const auto log = AuditLog::open(directory_.path() + "/none/audit");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().detail, HasSubstr("audit_log: " + directory_.path() + "/none/audit: "));
}

}  // namespace
}  // namespace seedance::server
