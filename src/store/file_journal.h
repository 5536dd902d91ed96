// A journal in a directory of files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "io/file_lock.h"
#include "io/file_system.h"
#include "io/mailbox.h"
#include "io/poller.h"
#include "store/journal_directory.h"
#include "store/journal_event.h"
#include "store/journal_metrics.h"
#include "store/journal_options.h"
#include "store/segment_writer.h"
#include "stream/journal.h"
#include "stream/journal_recovery.h"

namespace seedance::store {

// Carries out what a stream::Journal asks for, on a thread of its own, and holds
// the directory's lock for as long. append(), remove() and flush() belong to the
// owner's thread, which attaches events() to its poller. Nothing bounds what waits
// while the disk is slow or full: the owner has a Journal that does.
class FileJournal {
 public:
  struct Opened {
    std::unique_ptr<FileJournal> journal;
    stream::Recovery recovery;
  };

  // Makes the directory, for its owner only; takes its lock; reads what is there,
  // and cuts off what does not count. Invalid when another process has the lock;
  // corrupt, with nothing changed, when it is damaged. Files that are not the
  // journal's are let be.
  static Result<Opened> open(JournalOptions options, std::unique_ptr<io::FileSystem> files =
                                                         std::make_unique<io::SystemFiles>());

  FileJournal(const FileJournal&) = delete;
  FileJournal& operator=(const FileJournal&) = delete;
  // Without close(): what was not flushed is lost, what waits may be.
  ~FileJournal();

  // Of the core's turn; nothing happens before flush(), which wakes once for all.
  void append(stream::JournalWrite write);
  void remove(std::uint32_t segment);
  void flush();

  io::Mailbox<JournalEvent>& events() { return events_; }

  // Flushes, waits until everything is written and on the disk whatever the sync
  // mode, and says so in the directory; then releases it. An error tells what is
  // missing: it waits for no room. Nothing is called after it but events().
  Result<void> close();

  const JournalMetrics& metrics() const { return metrics_; }

 private:
  struct Append {
    stream::JournalWrite write;
    TimePoint at;
  };
  struct Remove {
    std::uint32_t segment = 0;
  };
  struct Stop {
    bool finish = false;
  };
  using Command = std::variant<Append, Remove, Stop>;
  struct Channels {
    io::Poller poller;
    io::Wakeup inbox;
    io::Wakeup events;
  };

  FileJournal(JournalOptions options, std::unique_ptr<io::FileSystem> files, io::FileLock lock,
              const JournalContents& contents, Channels channels);

  static Result<Channels> open_channels();
  void start();
  void run();
  Result<void> finish();
  void stop(Stop how);

  const JournalOptions options_;
  const std::unique_ptr<io::FileSystem> files_;
  std::optional<io::FileLock> lock_;  // None after close().
  const bool lost_tail_;              // When it was opened.
  JournalMetrics metrics_;
  io::Poller poller_;  // Of the journal's thread.
  io::Mailbox<Command> inbox_;
  io::Mailbox<JournalEvent> events_;
  SegmentWriter writer_;  // Of the journal's thread.
  std::vector<Command> collected_;
  Result<void> finished_;  // Read when the thread has ended.
  std::thread thread_;
};

}  // namespace seedance::store
