#include "stream/journal.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "stream/journal_fields.h"

namespace seedance::stream {
namespace {

// What a record of tokens, or of an end, has besides what it adds to its stream's
// state: its frame, stream and gen, and of tokens their place and number.
constexpr std::uint64_t kEndFixedBytes = kRecordHeaderBytes + 16 + 4;
constexpr std::uint64_t kTokensFixedBytes = kRecordHeaderBytes + kTokensBodyBytes;

// Copying may write one byte for so many that it frees.
constexpr std::uint64_t kFreedPerCopied = 2;

}  // namespace

Journal::Journal(JournalLimits limits, const Recovery& recovery)
    : limits_(limits), segment_(recovery.next_segment()) {
  for (const auto& [number, bytes] : recovery.segments) {
    segments_[number].bytes = bytes;
    bytes_ += bytes;
  }
  std::string state;
  for (const RecoveredStream& stream : recovery.streams) {
    const StateRecord& record = stream.state;
    state.clear();
    encode(record, state);
    Entry& entry = streams_[record.header.stream];
    entry.tokens = record.tokens.ids.size();
    entry.gen = record.header.gen;
    entry.epoch = record.header.epoch;
    entry.server_starts = record.server_starts;
    entry.ended = record.ended.has_value();
    entry.bytes = stream.bytes;
    enter(record.header.stream, entry, stream.segment, state.size());
    ended_bytes_ += ended_bytes_of(entry);
  }
}

void Journal::put(StateRecord record) {
  const StreamHeader& header = record.header;
  Entry& entry = streams_[header.stream];
  const bool is_new = entry.segment == 0;
  if (!is_new) {
    SEEDANCE_CHECK(header.gen >= entry.gen && header.epoch >= entry.epoch,
                   "a stream's gen and epoch only grow");
    SEEDANCE_CHECK(record.tokens.ids.size() >= entry.tokens && (record.ended || !entry.ended),
                   "a stream's newer state has all that the older one has");
    leave(header.stream, entry);
    segments_.at(entry.segment).replaced[header.stream] = collecting();
    ended_bytes_ -= ended_bytes_of(entry);
  }
  entry.tokens = record.tokens.ids.size();
  entry.gen = header.gen;
  entry.epoch = header.epoch;
  entry.ended = record.ended.has_value();
  entry.forwarding = false;
  record.server_starts = entry.server_starts;
  const std::uint64_t bytes = entry.bytes = write(record);
  enter(header.stream, entry, segment_, bytes);
  ended_bytes_ += ended_bytes_of(entry);
  if (is_new) {
    spend(entry, bytes);
  } else {
    put_since_ -= bytes;
  }
  if (entry.ended) reserved_ -= std::exchange(entry.reserved, 0);
}

void Journal::put(const TokensRecord& record) {
  Entry& stream = entry(record.stream);
  check_append(stream, record.gen);
  put_tokens(record, record.from, record.tokens.ids.size(), stream);
}

void Journal::put(const LogSlice& slice, Entry& stream) {
  check_append(stream, slice.gen);
  put_tokens(slice, slice.from, slice.to.value - slice.from.value, stream);
}

template <typename Record>
void Journal::put_tokens(const Record& record, Offset from, std::uint64_t count, Entry& stream) {
  SEEDANCE_CHECK(from.value == stream.tokens, "tokens follow the last ones");
  stream.tokens += count;
  if (count != 0) stream.server_starts = 0;
  const std::uint64_t bytes = write(record);
  stream.bytes += bytes;
  grow(stream, bytes - kTokensFixedBytes);
  spend(stream, bytes);
}

void Journal::put(const EndRecord& record) {
  Entry& stream = entry(record.stream);
  check_append(stream, record.gen);
  stream.ended = true;
  const std::uint64_t bytes = write(record);
  stream.bytes += bytes;
  grow(stream, bytes - kEndFixedBytes);
  ended_bytes_ += ended_bytes_of(stream);
  spend(stream, bytes);
  reserved_ -= std::exchange(stream.reserved, 0);
}

void Journal::put(const DriveRecord& record) {
  const auto found = streams_.find(record.stream);
  SEEDANCE_CHECK(found != streams_.end() && record.gen >= found->second.gen &&
                     record.epoch >= found->second.epoch,
                 "a stream's gen and epoch only grow");
  found->second.gen = record.gen;
  Entry& stream = entry(record.stream);
  check_append(stream, record.gen);
  stream.epoch = record.epoch;
  if (record.cause == DriveRecord::Cause::server) ++stream.server_starts;
  const std::uint64_t bytes = write(record);
  stream.bytes += bytes;
  spend(stream, bytes);
}

void Journal::shrink(StreamId stream, std::uint64_t bytes) {
  Entry& entry = streams_.at(stream);
  SEEDANCE_CHECK(entry.ended && bytes < entry.state_bytes, "what a state loses was in it");
  ended_bytes_ -= ended_bytes_of(entry);
  entry.state_bytes -= bytes;
  segments_.at(entry.segment).state_bytes -= bytes;
  ended_bytes_ += ended_bytes_of(entry);
}

void Journal::forget(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  if (found->second.segment != 0) {
    write(ForgetRecord{stream});
    leave(stream, found->second);
    for (auto& [number, segment] : segments_) segment.replaced.erase(stream);
  }
  reserved_ -= found->second.reserved;
  ended_bytes_ -= ended_bytes_of(found->second);
  streams_.erase(found);
}

std::optional<JournalWrite> Journal::take() {
  if (batch_.empty()) return std::nullopt;
  JournalWrite write{
      .batch = ++last_batch_, .segment = segment_, .bytes = std::exchange(batch_, {})};
  batch_.reserve(write.bytes.size());  // The next one is probably like it.
  Segment& segment = current();
  segment.bytes += limits_.batch_bytes_extra;
  bytes_ += limits_.batch_bytes_extra;
  segment.last_batch = last_batch_;
  if (segment.bytes >= std::min(limits_.segment_bytes, limits_.bytes_max / 4)) {
    ++segment_;
    current_ = nullptr;
  }
  return write;
}

void Journal::on_written(std::uint64_t batch) {
  SEEDANCE_CHECK(batch <= last_batch_, "only batches that were taken can be written");
  written_ = std::max(written_, batch);
}

std::vector<StreamId> Journal::to_forward() {
  if (forward_.empty()) put_since_ = 0;
  empty_oldest();
  std::vector<StreamId> named;
  if (forwarded_ > written_) return named;
  const std::uint64_t bytes_max = std::max(kForwardBytes, 2 * put_since_);
  for (std::uint64_t bytes = 0; bytes < bytes_max && !forward_.empty(); forward_.pop_front()) {
    const auto found = streams_.find(forward_.front());
    if (found == streams_.end() || !found->second.forwarding) continue;
    bytes += found->second.state_bytes;
    named.push_back(found->first);
  }
  if (!named.empty()) {
    forwarded_ = collecting();
    put_since_ = 0;
  }
  return named;
}

void Journal::empty_oldest() {
  std::size_t segments = segments_.size();
  std::uint64_t bytes = bytes_;
  std::uint64_t freed = 0;
  std::uint64_t copied = 0;
  std::size_t run = 0;
  auto begin = segments_.begin();
  for (auto at = begin; at != segments_.end() && at->first < segment_; ++at) {
    if (!crowded(segments, bytes)) break;
    freed += at->second.bytes;
    copied += at->second.emptying ? 0 : at->second.state_bytes;
    ++run;
    if (copied * kFreedPerCopied > freed) continue;  // Perhaps with the next one.
    for (; begin != std::next(at); ++begin) {
      if (std::exchange(begin->second.emptying, true)) continue;
      for (const StreamId stream : begin->second.streams) {
        if (!std::exchange(streams_.at(stream).forwarding, true)) forward_.push_back(stream);
      }
    }
    segments -= std::exchange(run, 0);
    bytes -= std::exchange(freed, 0);
    copied = 0;
  }
}

std::vector<std::uint32_t> Journal::removable() {
  std::vector<std::uint32_t> numbers;
  while (!segments_.empty()) {
    auto& [number, segment] = *segments_.begin();
    std::erase_if(segment.replaced, [&](const auto& one) { return one.second <= written_; });
    if (number >= segment_ || segment.last_batch > written_) break;
    if (!segment.streams.empty() || !segment.replaced.empty()) break;
    numbers.push_back(number);
    bytes_ -= segment.bytes;
    segments_.erase(segments_.begin());
  }
  return numbers;
}

bool Journal::can_reserve(std::uint64_t bytes) const {
  const std::uint64_t taken = bytes_ + reserved_;
  return taken <= limits_.bytes_max && bytes <= limits_.bytes_max - taken;
}

void Journal::reserve(StreamId stream, std::uint64_t bytes) {
  streams_[stream].reserved += bytes;
  reserved_ += bytes;
}

Journal::Segment& Journal::current() {
  if (current_ == nullptr) {
    current_ = &segments_[segment_];
    current_->bytes = kSegmentHeaderBytes;
    bytes_ += kSegmentHeaderBytes;
  }
  return *current_;
}

Journal::Segment& Journal::segment(std::uint32_t number) {
  return number == segment_ ? current() : segments_.at(number);
}

// Gives the bytes that the record takes.
template <typename Record>
std::uint64_t Journal::write(const Record& record) {
  const std::size_t before = batch_.size();
  encode(record, batch_);
  const std::size_t bytes = batch_.size() - before;
  current().bytes += bytes;
  bytes_ += bytes;
  put_since_ += bytes;
  return bytes;
}

Journal::Entry& Journal::entry(StreamId stream) {
  const auto found = streams_.find(stream);
  SEEDANCE_CHECK(found != streams_.end() && found->second.segment != 0,
                 "a stream's state comes before its other records");
  return found->second;
}

void Journal::check_append(const Entry& entry, Generation gen) {
  SEEDANCE_CHECK(!entry.ended, "nothing follows the end of a stream");
  SEEDANCE_CHECK(entry.gen == gen, "only the present gen appends");
}

// Copying goes on while it frees enough: of what is there then, so many times the states
// are left at most.
std::uint64_t Journal::ended_bytes_of(const Entry& entry) {
  return entry.ended ? std::max(entry.bytes, kFreedPerCopied * entry.state_bytes) : 0;
}

void Journal::grow(Entry& entry, std::uint64_t bytes) {
  entry.state_bytes += bytes;
  segment(entry.segment).state_bytes += bytes;
}

void Journal::leave(StreamId stream, Entry& entry) {
  Segment& segment = segments_.at(entry.segment);
  segment.streams.erase(stream);
  segment.state_bytes -= entry.state_bytes;
}

void Journal::enter(StreamId stream, Entry& entry, std::uint32_t segment,
                    std::uint64_t state_bytes) {
  entry.segment = segment;
  entry.state_bytes = state_bytes;
  segments_.at(segment).streams.insert(stream);
  segments_.at(segment).state_bytes += state_bytes;
}

void Journal::spend(Entry& entry, std::uint64_t bytes) {
  const std::uint64_t spent = std::min(entry.reserved, bytes);
  entry.reserved -= spent;
  reserved_ -= spent;
}

bool Journal::crowded(std::size_t segments, std::uint64_t bytes) const {
  return segments > limits_.segments_max || bytes > limits_.bytes_max / 2;
}

}  // namespace seedance::stream
