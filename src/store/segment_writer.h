// The writing side of a journal of files.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/file_system.h"
#include "store/journal_event.h"
#include "store/journal_metrics.h"
#include "store/journal_options.h"
#include "stream/journal.h"

namespace seedance::store {

// Carries out writes in a directory that is locked and sound. Knows neither the
// directory's past nor threads: the owner hands over what is to be done, then
// calls turn(), which blocks for as long as the disk takes, takes the events, and
// comes back no later than deadline().
//
// A file never holds part of a batch followed by another: what a failed write left
// is cut off before anything else is written. A segment whose sync failed is never
// written nor trusted again: a new file of its synced bytes, read back and checked,
// and of what was written since, kept in memory, takes its name. Files take their
// names when they are whole, so a death at any point leaves one or the other.
//
// Batches need not fit in a segment. The owner bounds what it hands over.
class SegmentWriter {
 public:
  // Everything given outlives it. The options name the boot id. `segments`: those
  // that are there.
  SegmentWriter(const JournalOptions& options, io::FileSystem& files, JournalMetrics& metrics,
                std::set<std::uint32_t> segments);
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // In order, and before a later segment than the last one's. `at`: for the
  // latency that metrics show.
  void append(stream::JournalWrite write, TimePoint at);

  // No later append goes to it.
  void remove(std::uint32_t segment);

  void turn(TimePoint now);

  // Everything handed over is written, and every segment is on the disk. Waits for
  // no room; an error says what is missing.
  Result<void> finish(TimePoint now);

  // kNever when there is nothing to do before more is handed over.
  TimePoint deadline() const;

  // The owner takes them out.
  std::vector<JournalEvent>& events() { return events_; }

 private:
  struct Queued {
    stream::JournalWrite write;
    TimePoint at;
  };
  struct Pending {
    std::uint64_t batch = 0;
    TimePoint at;
  };

  Result<void> attempt(TimePoint now);
  Result<void> settle(TimePoint now);
  Result<void> write_queue(TimePoint now);
  Result<void> write_run(TimePoint now);
  void keep(std::string_view mark, std::size_t batches, TimePoint now);
  Result<void> write_all(const io::File& file, std::vector<std::string_view> pieces,
                         std::uint64_t& written);
  Result<void> begin_segment(std::uint32_t segment);
  Result<io::File> place(std::uint32_t segment, std::string_view front, std::string_view back);
  Result<void> repair();
  Result<void> rewrite_sealed();
  Result<void> sync();
  Result<void> sync_all_segments();
  void on_synced();
  void remove_needless();
  void report(std::vector<Pending>& written);
  void stall(const Error& error, TimePoint now);
  void flow();
  void append_mark(std::string& out) const;
  bool syncs() const { return options_.sync != Sync::none; }
  std::uint64_t bytes_waiting() const;

  const JournalOptions& options_;
  io::FileSystem& files_;
  JournalMetrics& metrics_;

  std::deque<Queued> queue_;       // Not written.
  std::vector<Pending> awaiting_;  // Written, and to be synced before they count.
  std::vector<std::uint32_t> removals_;
  std::set<std::uint32_t> segments_;  // Files that are there.
  std::vector<JournalEvent> events_;

  // The segment being written.
  std::optional<io::File> file_;
  std::uint32_t segment_ = 0;
  std::uint64_t bytes_ = 0;         // Whole batches and what precedes them.
  std::uint64_t synced_bytes_ = 0;  // Of them, on the disk.
  std::string unsynced_;            // The rest; empty with Sync::none.
  bool mark_due_ = false;           // What is synced is not marked so yet.
  bool torn_ = false;               // There is something behind bytes_.
  bool sealed_ = false;             // A sync failed.
  TimePoint sync_at_ = kNever;

  bool stalled_ = false;
  TimePoint retry_at_ = kNever;
};

}  // namespace seedance::store
