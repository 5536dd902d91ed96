#include "sim/disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/bytes.h"
#include "stream/journal_record.h"

namespace seedance::sim {
namespace {

constexpr Duration kRetryAfter = std::chrono::milliseconds{500};
constexpr std::size_t kRemovedKept = 3;
constexpr std::size_t kSectorBytes = 64;  // Small, as segments are. Written whole or not at all.

Problem full_disk() {
  return {.code = ErrorCode::overloaded,
          .message = "the journal cannot be written now; try again later",
          .retry_after_ms = 500};
}

}  // namespace

Disk::Disk(World& world, Actor self, DiskPlan plan, Ledger& ledger)
    : world_(world), self_(self), plan_(plan), ledger_(ledger) {
  boot_[0] = 1;
}

Result<stream::Recovery> Disk::open() {
  if (death_ != Death::none) ledger_.on_death(segments_, death_);
  death_ = Death::none;
  stream::JournalReader reader{{.boot = boot_}};
  std::vector<std::pair<std::uint32_t, std::size_t>> counts;
  for (const auto& [number, bytes] : segments_) {
    const auto counted = reader.on_segment(number, as_bytes(bytes));
    if (!counted) return std::unexpected(counted.error());
    counts.emplace_back(number, *counted);
  }
  stream::Recovery recovery = reader.finish();
  for (const auto& [number, count] : counts) {
    segments_.at(number).resize(count);
    synced_[number] = std::min(synced_[number], count);
    if (count > 0) continue;
    segments_.erase(number);
    synced_.erase(number);
  }
  if (ended_ && recovery.bytes_cut == 0) recovery.lost_tail = false;
  ended_ = false;
  lost_tail_ = recovery.lost_tail;
  if (plan_.sync == Sync::none) return recovery;
  // What a dead process wrote and did not sync counts from now on.
  for (const auto& [number, bytes] : segments_) synced_[number] = bytes.size();
  removed_.clear();
  return recovery;
}

void Disk::append(stream::JournalWrite write) {
  ledger_.on_handed_over(write.bytes);
  queue_.push_back(std::move(write));
  rest(plan_.write_min);
}

void Disk::remove(std::uint32_t segment) {
  removals_.push_back(segment);
  rest(plan_.write_min);
}

void Disk::rest(Duration least) {
  if (busy_until_ <= world_.now()) {
    busy_until_ = world_.now() + world_.spread(least, std::max(least, plan_.write_max));
  }
  world_.wake(self_, deadline());
}

TimePoint Disk::deadline() const {
  const bool busy = !queue_.empty() || (!removals_.empty() && may_remove());
  return std::min(busy ? busy_until_ : kNever, stalled_ ? kNever : sync_at_);
}

void Disk::turn() {
  if (world_.now() >= busy_until_) {
    if (!queue_.empty()) {
      if (world_.now() < full_until_) {
        fail_write();
      } else {
        write_next();
      }
    }
    remove_needless();
    if (!queue_.empty()) rest(stalled_ ? kRetryAfter : plan_.write_min);
  }
  if (!stalled_ && world_.now() >= sync_at_) sync();
  world_.wake(self_, deadline());
}

// Some of the batches in front, as one write.
void Disk::write_next() {
  cut_torn();
  std::size_t count = 1 + world_.below(std::min<std::size_t>(queue_.size(), 4));
  if (queue_.front().segment != segment_) begin_segment(queue_.front().segment);
  if (std::exchange(mark_due_, false)) append_mark(segments_[segment_]);
  for (; count > 0 && queue_.front().segment == segment_; --count) {
    segments_[segment_] += queue_.front().bytes;
    if (plan_.sync == Sync::always) {
      awaiting_.push_back(std::move(queue_.front()));
    } else {
      commit(queue_.front());
    }
    queue_.pop_front();
    if (queue_.empty()) break;
  }
  unsynced_ = true;
  if (plan_.sync == Sync::always) {
    sync_at_ = world_.now() + world_.spread(plan_.write_min, plan_.write_max);
  } else if (plan_.sync == Sync::interval) {
    sync_at_ = std::min(sync_at_, world_.now() + plan_.sync_interval);
  }
  if (stalled_ && queue_.empty()) {
    stalled_ = false;
    world_.note("disk flows");
    messages_.emplace_back(core::JournalFlows{});
  }
}

void Disk::commit(const stream::JournalWrite& write) {
  ledger_.on_written(write.bytes);
  messages_.emplace_back(core::JournalWritten{write.batch});
}

// What was written of a batch is cut off, at once or when the next write is tried.
void Disk::fail_write() {
  if (segment_ == queue_.front().segment) {
    if (torn_ == 0 && world_.one_in(2)) {
      torn_ = world_.below(queue_.front().bytes.size());
      segments_[segment_] += queue_.front().bytes.substr(0, torn_);
    } else {
      cut_torn();
    }
  }
  if (std::exchange(stalled_, true)) return;
  world_.note("disk full", queue_.size());
  messages_.emplace_back(core::JournalStalled{full_disk()});
}

void Disk::cut_torn() {
  if (torn_ == 0) return;
  std::string& bytes = segments_.at(segment_);
  bytes.resize(bytes.size() - std::exchange(torn_, 0));
}

void Disk::begin_segment(std::uint32_t segment) {
  if (plan_.sync != Sync::none && unsynced_) sync();
  segment_ = segment;
  std::string& bytes = segments_[segment];
  stream::encode(stream::SegmentHeader{.segment = segment,
                                       .boot = boot_,
                                       .created = world_.wall(),
                                       .synced_always = plan_.sync == Sync::always},
                 bytes);
  if (plan_.sync != Sync::none) append_mark(bytes);
  synced_[segment] = plan_.sync == Sync::none ? 0 : bytes.size();
  mark_due_ = false;
  world_.note("segment", segment);
}

void Disk::append_mark(std::string& out) const {
  stream::encode(stream::SyncRecord{.boot = boot_, .at = world_.wall()}, out);
}

std::uint32_t Disk::batch_bytes_extra() const {
  if (plan_.sync == Sync::none) return 0;
  std::string mark;
  append_mark(mark);
  return static_cast<std::uint32_t>(mark.size());
}

void Disk::sync() {
  sync_at_ = kNever;
  if (!std::exchange(unsynced_, false)) return;
  world_.note("sync", segment_);
  synced_[segment_] = segments_[segment_].size() - torn_;
  removed_.clear();
  mark_due_ = true;
  for (const stream::JournalWrite& write : awaiting_) commit(write);
  awaiting_.clear();
  remove_needless();
}

// What replaces a segment has to be on the platter first.
bool Disk::may_remove() const {
  return plan_.sync != Sync::interval || !unsynced_;
}

void Disk::remove_needless() {
  while (!removals_.empty() && may_remove()) {
    const std::uint32_t segment = removals_.front();
    removals_.pop_front();
    world_.note("remove segment", segment);
    removed_.emplace_back(segment, std::move(segments_.at(segment)));
    if (removed_.size() > kRemovedKept) removed_.erase(removed_.begin());
    segments_.erase(segment);
    synced_.erase(segment);
  }
}

void Disk::finish() {
  full_until_ = {};
  while (!queue_.empty()) write_next();
  cut_torn();
  if (unsynced_) sync();
  sync_at_ = kNever;
  remove_needless();
  removed_.clear();
  for (const auto& [number, bytes] : segments_) synced_[number] = bytes.size();
  // Of a tail that was lost before, it is the first batch that tells.
  ended_ = !lost_tail_ || segment_ != 0;
  segment_ = 0;
  mark_due_ = false;
  messages_.clear();
  world_.note("disk finished", segments_.size());
}

void Disk::on_process_death() {
  tear();
  death_ = std::max(death_, Death::of_process);
}

void Disk::on_power_loss() {
  tear();
  if (plan_.sync != Sync::none) {
    removed_.resize(0);
  } else if (world_.one_in(3)) {
    bring_back_removed();
  }
  lose_unsynced();
  removed_.clear();
  ++boot_[0];
  death_ = Death::of_machine;
}

// Of what was to be written, any part is.
void Disk::tear() {
  cut_torn();
  std::size_t left = 0;
  for (const stream::JournalWrite& write : queue_) left += write.bytes.size();
  left = world_.one_in(3) ? 0 : world_.below(left + 1);
  world_.note("torn", left);
  while (!queue_.empty() && left > 0) {
    const stream::JournalWrite& write = queue_.front();
    if (write.segment != segment_) begin_segment(write.segment);
    if (std::exchange(mark_due_, false)) append_mark(segments_[segment_]);
    const std::size_t count = std::min(left, write.bytes.size());
    segments_[segment_] += write.bytes.substr(0, count);
    unsynced_ = true;
    left -= count;
    queue_.pop_front();
  }
  queue_.clear();
  awaiting_.clear();
  removals_.clear();
  messages_.clear();
  segment_ = 0;
  torn_ = 0;
  mark_due_ = unsynced_ = stalled_ = false;
  busy_until_ = {};
  sync_at_ = kNever;
  full_until_ = {};
}

// Everything behind some byte is gone, or a page before it was never written.
void Disk::lose_unsynced() {
  std::size_t unsynced = 0;
  for (const auto& [number, bytes] : segments_) unsynced += bytes.size() - synced_[number];
  std::size_t left = world_.one_in(4) ? 0 : world_.below(unsynced + 1);
  world_.note("power loss", unsynced, left);
  std::vector<std::uint32_t> gone;
  for (auto& [number, bytes] : segments_) {
    const std::size_t synced = synced_[number];
    const std::size_t kept = std::min(left, bytes.size() - synced);
    left -= kept;
    const bool zeros = bytes.size() > synced + kept && world_.one_in(3);
    const std::size_t size = bytes.size();
    const std::size_t end = synced + kept;
    bytes.resize(zeros ? std::max(synced, end / kSectorBytes * kSectorBytes) : end);
    const bool first = number == segments_.begin()->first;  // Its header tells the boot.
    if (kept > kSectorBytes && (synced > 0 || !first) > 0 && world_.one_in(4))
      lose_page(bytes, synced);
    if (zeros) bytes.resize(size, '\0');
    if (bytes.empty() && world_.one_in(2)) gone.push_back(number);
    synced_[number] = bytes.size();
  }
  for (const std::uint32_t number : gone) {
    segments_.erase(number);
    synced_.erase(number);
  }
}

void Disk::lose_page(std::string& bytes, std::size_t synced) {
  const std::size_t page = world_.one_of<std::size_t>({1, 2, 8}) * kSectorBytes;
  const std::size_t at = (synced + world_.below(bytes.size() - synced)) / page * page;
  const std::size_t begin = std::max(at, synced);
  const std::size_t end = std::min(at + page, bytes.size());
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, '\0');
}

// The directory on the platter still names them.
void Disk::bring_back_removed() {
  for (auto& [number, bytes] : removed_ | std::views::reverse) {
    if (segments_.empty() || number + 1 != segments_.begin()->first) return;
    synced_[number] = bytes.size();
    segments_.emplace(number, std::move(bytes));
  }
}

void Disk::write_down() const {
  if (!world_.is_written()) return;
  for (const auto& [number, bytes] : segments_) {
    world_.write(fmt::format("segment {}: {} bytes", number, bytes.size()));
    Bytes rest = as_bytes(bytes);
    rest = rest.subspan(std::min(rest.size(), stream::kSegmentHeaderBytes));
    while (const auto record = stream::decode_record(rest)) {
      world_.write("  " + stream::describe(record->record));
      rest = rest.subspan(record->bytes);
    }
  }
}

std::uint64_t Disk::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [number, bytes] : segments_) sum += bytes.size();
  return sum;
}

std::uint64_t Disk::bytes_waiting() const {
  std::uint64_t sum = 0;
  for (const stream::JournalWrite& write : queue_) sum += write.bytes.size();
  return sum;
}

}  // namespace seedance::sim
