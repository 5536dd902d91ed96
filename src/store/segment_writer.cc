#include "store/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "io/clock.h"
#include "store/journal_check.h"
#include "store/journal_directory.h"
#include "stream/journal_record.h"

namespace seedance::store {
namespace {

constexpr Duration kRetryAfter = std::chrono::milliseconds{500};

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

SegmentWriter::SegmentWriter(const JournalOptions& options, io::FileSystem& files,
                             JournalMetrics& metrics, std::set<std::uint32_t> segments)
    : options_(options),
      files_(files),
      metrics_(metrics),
      segments_(std::move(segments)),
      segment_(segments_.empty() ? 0 : *segments_.rbegin()) {
  metrics_.segments.set(static_cast<std::int64_t>(segments_.size()));
}

void SegmentWriter::append(stream::JournalWrite write, TimePoint at) {
  queue_.push_back({std::move(write), at});
}

void SegmentWriter::remove(std::uint32_t segment) {
  removals_.push_back(segment);
}

TimePoint SegmentWriter::deadline() const {
  if (!stalled_) return sync_at_;
  return sealed_ ? retry_at_ : std::min(retry_at_, sync_at_);
}

void SegmentWriter::turn(TimePoint now) {
  const bool may_write = !stalled_ || now >= retry_at_;
  if (!may_write && (sealed_ || now < sync_at_)) return;
  const auto done = may_write ? attempt(now) : sync();
  remove_needless();
  if (!done) {
    stall(done.error(), now);
  } else if (may_write) {
    flow();
  }
}

Result<void> SegmentWriter::attempt(TimePoint now) {
  if (auto repaired = repair(); !repaired) return repaired;
  auto done = write_queue(now);
  if (now >= sync_at_ && !sealed_) {
    if (auto synced = sync(); done && !synced) done = std::move(synced);
  }
  return done;
}

Result<void> SegmentWriter::write_queue(TimePoint now) {
  while (!queue_.empty()) {
    const std::uint32_t segment = queue_.front().write.segment;
    if (!file_ || segment != segment_) {
      if (auto begun = begin_segment(segment); !begun) return begun;
    }
    if (auto written = write_run(now); !written) return written;
    if (unsynced_.size() >= options_.unsynced_bytes_max) {
      if (auto synced = sync(); !synced) return synced;
    }
  }
  return {};
}

// All batches in front that go to the segment, as one write.
Result<void> SegmentWriter::write_run(TimePoint now) {
  std::string mark;
  if (mark_due_) append_mark(mark);
  std::vector<std::string_view> pieces{mark};
  std::vector<std::uint64_t> ends;  // Of each batch, behind bytes_.
  std::uint64_t end = mark.size();
  for (const Queued& queued : queue_) {
    if (queued.write.segment != segment_) break;
    if (syncs() && !ends.empty() && unsynced_.size() + end >= options_.unsynced_bytes_max) break;
    pieces.push_back(queued.write.bytes);
    ends.push_back(end += queued.write.bytes.size());
  }
  std::uint64_t written = 0;
  auto result = write_all(*file_, pieces, written);
  const auto whole = std::ranges::upper_bound(ends, written) - ends.begin();
  if (whole > 0) keep(mark, static_cast<std::size_t>(whole), now);
  if (!result) {
    torn_ = true;
    (void)repair();  // Else the next attempt begins with it.
  }
  return result;
}

Result<void> SegmentWriter::write_all(const io::File& file, std::vector<std::string_view> pieces,
                                      std::uint64_t& written) {
  std::span<std::string_view> rest{pieces};
  for (;;) {
    while (!rest.empty() && rest.front().empty()) rest = rest.subspan(1);
    if (rest.empty()) return {};
    const auto taken = files_.write(file, rest);
    if (!taken) return std::unexpected(taken.error());
    if (*taken == 0) return fail(Errc::overloaded, file.path + ": takes no bytes");
    metrics_.writes.add();
    metrics_.bytes.add(*taken);
    written += *taken;
    std::size_t left = *taken;
    while (left > 0) {
      const std::size_t count = std::min(left, rest.front().size());
      rest.front().remove_prefix(count);
      left -= count;
      if (rest.front().empty()) rest = rest.subspan(1);
    }
  }
}

// The first batches of the queue are in the segment, behind `mark`.
void SegmentWriter::keep(std::string_view mark, std::size_t batches, TimePoint now) {
  std::vector<Pending> written;
  bytes_ += mark.size();
  if (syncs()) unsynced_ += mark;
  mark_due_ = false;
  for (; batches > 0; --batches) {
    const Queued& queued = queue_.front();
    bytes_ += queued.write.bytes.size();
    if (syncs()) unsynced_ += queued.write.bytes;
    written.push_back({queued.write.batch, queued.at});
    queue_.pop_front();
  }
  if (options_.sync == Sync::always) {
    awaiting_.insert(awaiting_.end(), written.begin(), written.end());
    sync_at_ = now;
    return;
  }
  if (syncs()) sync_at_ = std::min(sync_at_, now + options_.sync_interval);
  report(written);
}

Result<void> SegmentWriter::begin_segment(std::uint32_t segment) {
  SEEDANCE_CHECK(segment > segment_ || (segment == segment_ && !file_),
                 "segments are written in the order of their numbers");
  if (!unsynced_.empty()) {
    if (auto synced = sync(); !synced) return synced;
  }
  // Gives back what was reserved behind the end; no harm if that fails.
  if (file_ && options_.segment_reserve_bytes > 0) (void)files_.truncate(*file_, bytes_);
  std::string front;
  stream::encode(stream::SegmentHeader{.segment = segment,
                                       .boot = options_.boot.value(),
                                       .created = io::wall_now(),
                                       .synced_always = options_.sync == Sync::always},
                 front);
  if (syncs()) append_mark(front);
  auto placed = place(segment, front, {});
  if (!placed) return std::unexpected(placed.error());
  file_ = std::move(*placed);
  segment_ = segment;
  bytes_ = synced_bytes_ = front.size();
  mark_due_ = false;
  segments_.insert(segment);
  metrics_.segments.set(static_cast<std::int64_t>(segments_.size()));
  return {};
}

void SegmentWriter::append_mark(std::string& out) const {
  stream::encode(stream::SyncRecord{.boot = options_.boot.value(), .at = io::wall_now()}, out);
}

// A file of that name with those bytes, on the disk if they must be.
Result<io::File> SegmentWriter::place(std::uint32_t segment, std::string_view front,
                                      std::string_view back) {
  const std::string path = segment_path(options_.directory, segment);
  const std::string temporary = temporary_path(path);
  auto file = files_.create(temporary);
  if (!file) return file;
  if (options_.segment_reserve_bytes > 0) files_.reserve(*file, options_.segment_reserve_bytes);
  std::uint64_t written = 0;
  auto done = write_all(*file, {front, back}, written);
  if (done && syncs()) {
    metrics_.syncs.add();
    done = files_.sync(*file);
  }
  if (done) done = files_.rename(temporary, path);
  if (done && syncs()) done = files_.sync_directory(options_.directory);
  if (!done) {
    (void)files_.remove(temporary);  // It takes room; the next attempt empties it anyway.
    return std::unexpected(done.error());
  }
  file->path = path;
  return file;
}

Result<void> SegmentWriter::repair() {
  if (sealed_) return rewrite_sealed();
  if (torn_) {
    if (auto cut = files_.truncate(*file_, bytes_); !cut) return cut;
    torn_ = false;
  }
  return {};
}

Result<void> SegmentWriter::rewrite_sealed() {
  auto synced = io::read_file(file_->path);
  if (!synced) return std::unexpected(synced.error());
  if (synced->size() >= synced_bytes_) synced->resize(synced_bytes_);
  const SegmentCheck check = check_segment(segment_, as_bytes(*synced));
  if (check.sound_bytes != synced_bytes_) {
    return fail(Errc::corrupt, fmt::format("{}: byte {} was on the disk and is damaged",
                                           file_->path, check.sound_bytes));
  }
  auto placed = place(segment_, *synced, unsynced_);
  if (!placed) return std::unexpected(placed.error());
  file_ = std::move(*placed);
  sealed_ = false;
  torn_ = false;
  on_synced();
  return {};
}

Result<void> SegmentWriter::sync() {
  metrics_.syncs.add();
  if (auto synced = files_.sync(*file_); !synced) {
    sealed_ = true;
    return synced;
  }
  on_synced();
  return {};
}

void SegmentWriter::on_synced() {
  mark_due_ = mark_due_ || !unsynced_.empty();
  unsynced_.clear();
  synced_bytes_ = bytes_;
  sync_at_ = kNever;
  report(awaiting_);
  remove_needless();
}

// In their order: records in a later segment may say that streams of an earlier one
// are gone.
void SegmentWriter::remove_needless() {
  // What replaces them has to be on the disk first.
  if (options_.sync == Sync::interval && !unsynced_.empty()) return;
  std::size_t removed = 0;
  for (const std::uint32_t segment : removals_) {
    if (!files_.remove(segment_path(options_.directory, segment))) break;
    ++removed;
    segments_.erase(segment);
    if (segment == segment_) file_.reset();
  }
  if (removed == 0) return;
  removals_.erase(removals_.begin(), removals_.begin() + static_cast<std::ptrdiff_t>(removed));
  metrics_.segments.set(static_cast<std::int64_t>(segments_.size()));
}

void SegmentWriter::report(std::vector<Pending>& written) {
  if (written.empty()) return;
  const TimePoint now = io::now();
  for (const Pending& pending : written) metrics_.commit.observe(seconds(now - pending.at));
  events_.emplace_back(Written{written.back().batch});
  written.clear();
}

void SegmentWriter::stall(const Error& error, TimePoint now) {
  retry_at_ = now + kRetryAfter;
  if (stalled_) return;
  stalled_ = true;
  metrics_.stalls.add();
  metrics_.stalled.set(1);
  const std::uint64_t bytes = bytes_waiting();
  const auto retry_ms = std::chrono::ceil<std::chrono::milliseconds>(kRetryAfter).count();
  events_.emplace_back(Stalled{
      .problem = {.code = ErrorCode::overloaded,
                  .message = fmt::format("the server cannot write its journal now, {} bytes wait; "
                                         "retry later",
                                         bytes),
                  .numbers = {{.key = "journal_bytes_waiting",
                               .value = static_cast<std::int64_t>(bytes)}},
                  .retry_after_ms = static_cast<std::uint32_t>(retry_ms)},
      .detail = fmt::format("{} ({} bytes wait; it tries again every {} ms)", error.detail, bytes,
                            retry_ms)});
}

void SegmentWriter::flow() {
  if (!stalled_) return;
  stalled_ = false;
  retry_at_ = kNever;
  metrics_.stalled.set(0);
  events_.emplace_back(Flows{});
}

std::uint64_t SegmentWriter::bytes_waiting() const {
  std::uint64_t bytes = sealed_ ? unsynced_.size() : 0;
  for (const Queued& queued : queue_) bytes += queued.write.bytes.size();
  return bytes;
}

Result<void> SegmentWriter::finish(TimePoint now) {
  auto done = settle(now);
  if (!done) done = settle(now);  // What a failed sync may have lost is written again.
  if (!done) {
    return fail(
        done.error().code,
        fmt::format("{} batches with {} bytes are not in the journal: {}",
                    queue_.size() + awaiting_.size(), bytes_waiting(), done.error().detail));
  }
  if (stalled_) flow();
  remove_needless();
  if (file_ && options_.segment_reserve_bytes > 0) (void)files_.truncate(*file_, bytes_);
  return sync_all_segments();
}

Result<void> SegmentWriter::settle(TimePoint now) {
  auto done = attempt(now);
  return done && !unsynced_.empty() ? sync() : done;
}

Result<void> SegmentWriter::sync_all_segments() {
  if (syncs()) return {};  // They are.
  for (const std::uint32_t segment : segments_) {
    const auto file = files_.open(segment_path(options_.directory, segment));
    if (!file) return std::unexpected(file.error());
    metrics_.syncs.add();
    if (auto synced = files_.sync(*file); !synced) return synced;
  }
  return files_.sync_directory(options_.directory);
}

}  // namespace seedance::store
