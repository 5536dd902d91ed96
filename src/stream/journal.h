// The journal as the core writes it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "stream/journal_record.h"
#include "stream/journal_recovery.h"

namespace seedance::stream {

struct JournalLimits {
  std::uint64_t segment_bytes = std::uint64_t{16} << 20;  // A segment with as many gets a successor.
  std::uint32_t segments_max = 8;  // With more, streams in the oldest one are copied forward.
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // All segments and reservations together.
};

// One write for everything that happened since the last one.
struct JournalWrite {
  std::uint64_t batch = 0;  // From 1, in order.
  std::uint32_t segment = 0;
  std::string bytes;        // Whole records.
};

// Collects records into batches, knows which segment each stream needs, and says
// which segments can go and which streams must be copied forward. Does no I/O:
// the owner carries out take(), in order, and removes what removable() names.
// Belongs to the core.
class Journal {
 public:
  // Continues behind what recovery found, in a segment of its own.
  Journal(JournalLimits limits, const Recovery& recovery);

  // Each adds a record to the batch being collected. State: for a new stream, or
  // one that is copied forward.
  void put(const StateRecord& record);
  void put(const TokensRecord& record);
  void put(const EndRecord& record);
  void put(const DriveRecord& record);
  // Only of a stream that is there.
  void forget(StreamId stream);

  // The number that the batch being collected will have.
  std::uint64_t collecting() const { return last_batch_ + 1; }

  // The batch, if anything was put. Closes the segment when it is full.
  std::optional<JournalWrite> take();

  // That batch, and all before it, is written.
  void on_written(std::uint64_t batch);

  // Streams with records in the oldest segment, while there are more than
  // segments_max: each is to be put again as a whole. Asked again until it is
  // empty it names each of them once.
  std::vector<StreamId> to_forward();

  // Segments that no stream needs, whose replacements are written. Each is named
  // once.
  std::vector<std::uint32_t> removable();

  // Space. A stream reserves before it is accepted what it can become; what it
  // writes is taken from it; its end gives the rest back.
  bool can_reserve(std::uint64_t bytes) const;
  void reserve(StreamId stream, std::uint64_t bytes);

  std::uint64_t bytes() const { return bytes_; }          // In all segments.
  std::uint64_t reserved() const { return reserved_; }
  std::size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    std::uint64_t bytes = 0;
    std::set<StreamId> streams;  // Whose oldest needed record is here.
    std::uint64_t last_batch = 0;
  };
  struct Held {
    std::uint32_t segment = 0;
    std::uint64_t reserved = 0;
  };

  const JournalLimits limits_;
  std::map<std::uint32_t, Segment> segments_;
  std::unordered_map<StreamId, Held> streams_;
  std::string batch_;
  std::uint64_t last_batch_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint32_t segment_ = 0;  // Being written.
};

}  // namespace seedance::stream
