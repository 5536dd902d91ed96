// The journal's disk and the thread that writes it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/messages.h"
#include "sim/ledger.h"
#include "sim/world.h"
#include "stream/journal.h"
#include "stream/journal_recovery.h"

namespace seedance::sim {

// When a batch counts as written: store::Sync.
enum class Sync : std::uint8_t { none, interval, always };

struct DiskPlan {
  Sync sync = Sync::none;
  Duration write_min = std::chrono::microseconds{20};
  Duration write_max = std::chrono::milliseconds{2};
  Duration sync_interval = std::chrono::milliseconds{100};
};

// Carries out what the core's journal asks for, as store::FileJournal does with
// files: batches in order, a segment's header with its first batch, sync marks and
// the boot id, removals behind the writes before them. Takes its time for each, and
// fails when told so.
//
// It outlives the server. What was written before the server died is there after it
// and of what was under way any part, torn at any byte. When the machine loses its
// power, what was not synced is there or not, in whole or in part.
class Disk {
 public:
  Disk(World& world, Actor self, DiskPlan plan, Ledger& ledger);

  // For the server.

  // As a start of the server reads it.
  Result<stream::Recovery> open();
  void append(stream::JournalWrite write);
  void remove(std::uint32_t segment);
  void turn();
  std::vector<core::Message> take_messages() { return std::exchange(messages_, {}); }
  // What the owner of a journal on this disk adds to a batch.
  std::uint32_t batch_bytes_extra() const;
  bool idle() const { return queue_.empty() && awaiting_.empty(); }

  // The ends of a server. In order: all is written and synced.
  void finish();
  void on_process_death();
  void on_power_loss();

  // Until then it is full: writes fail, in the middle perhaps.
  void fill_until(TimePoint at) { full_until_ = at; }

  const Segments& segments() const { return segments_; }
  void write_down() const;              // What is on it, into the diary.
  std::uint64_t bytes() const;          // On the disk.
  std::uint64_t bytes_waiting() const;  // In the queue.

 private:
  void write_next();
  void fail_write();
  void cut_torn();
  void begin_segment(std::uint32_t segment);
  void commit(const stream::JournalWrite& write);
  void sync();
  bool may_remove() const;
  void remove_needless();
  void append_mark(std::string& out) const;
  void tear();
  void lose_unsynced();
  void lose_page(std::string& bytes, std::size_t synced);
  void bring_back_removed();
  void rest(Duration least);
  TimePoint deadline() const;

  World& world_;
  const Actor self_;
  const DiskPlan plan_;
  Ledger& ledger_;

  Segments segments_;
  std::map<std::uint32_t, std::size_t> synced_;  // Bytes of each segment that are on the platter.
  std::vector<std::pair<std::uint32_t, std::string>> removed_;  // And perhaps not on the platter.
  stream::BootId boot_{};
  Death death_ = Death::none;  // The worst since it was opened.
  bool ended_ = false;         // In order, by finish().
  bool lost_tail_ = false;     // Before this start.

  std::deque<stream::JournalWrite> queue_;
  std::vector<stream::JournalWrite> awaiting_;  // Written, and to be synced.
  std::deque<std::uint32_t> removals_;
  std::vector<core::Message> messages_;
  std::uint32_t segment_ = 0;  // Being written; 0 = none since the start.
  std::size_t torn_ = 0;       // Bytes behind the last whole batch.
  bool mark_due_ = false;
  bool unsynced_ = false;
  bool stalled_ = false;
  TimePoint busy_until_{};
  TimePoint sync_at_ = kNever;
  TimePoint full_until_{};
};

}  // namespace seedance::sim
