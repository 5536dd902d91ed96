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
#include "stream/log_slice.h"

namespace seedance::stream {

struct JournalLimits {
  // A segment with as many gets a successor. At most a quarter of bytes_max counts.
  std::uint64_t segment_bytes = std::uint64_t{16} << 20;
  std::uint32_t segments_max = 8;  // With more, streams in the oldest ones are copied forward.
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // All segments and reservations together.
  std::uint32_t batch_bytes_extra = 0;  // What the owner adds to each batch: a sync mark, say.
};

// One write for everything that happened since the last one.
struct JournalWrite {
  std::uint64_t batch = 0;  // From 1, in order.
  std::uint32_t segment = 0;
  std::string bytes;  // Whole records.
};

// Collects records into batches, knows which segment each stream needs, and says
// which segments can go and which streams must be copied forward. Does no I/O:
// the owner carries out take(), in order, and removes what removable() names.
// Belongs to the core.
//
// Segments go strictly oldest first, and one goes only when all of it is written, and
// every stream whose state stands in it was forgotten, or has a newer state in a batch
// that is written. That a stream was forgotten need not be written: on a full disk it
// could not be, and nothing else would ever make room. What is on the disk is always an
// unbroken run of segments up to the newest, and with it the three dangers of removing
// are excluded, whenever the server dies:
//  - A stream that is there loses nothing: all its records since its last written
//    state are in that state's segment or in newer ones.
//  - A forgotten stream does not rise from the dead: its states are all older than the
//    record that forgets it, so they are gone before that record can be. Without that
//    record it is there again for as long as its last written state is.
//  - Records without their state, of a stream that was forgotten or whose newer state
//    comes later, can stand only at the front of what is left: the reader passes over
//    them.
class Journal {
 public:
  // What it knows of one stream, from its first state until it is forgotten. Only the
  // journal looks into it: whoever keeps a reference saves a search.
  struct Entry {
    std::uint32_t segment = 0;      // With its state; 0 = it only has reserved.
    std::uint64_t state_bytes = 0;  // If it were put again.
    std::uint64_t bytes = 0;        // Of its last state and what followed.
    std::uint64_t reserved = 0;
    std::uint64_t tokens = 0;
    Generation gen;
    Epoch epoch;
    std::uint32_t server_starts = 0;  // Since its last token.
    bool ended = false;
    bool forwarding = false;  // It is to be put again.
  };

  // Continues behind what recovery found, in a segment of its own.
  Journal(JournalLimits limits, const Recovery& recovery);
  Journal(Journal&&) = default;  // A map's elements stay where they are.

  // Each adds a record to the batch being collected, and checks that it continues
  // what was put before, as the reader will. State: for a new stream, or the whole of
  // one that is there, to be copied forward or to change its epoch; its server starts
  // are counted here.
  void put(StateRecord record);
  void put(const TokensRecord& record);
  void put(const LogSlice& slice, Entry& stream);
  void put(const EndRecord& record);
  void put(const DriveRecord& record);
  // The stream has ended, and its state would be so many bytes smaller if it were put
  // again: what it takes to run it is not needed any more.
  void shrink(StreamId stream, std::uint64_t bytes);
  // Gives up what was reserved, too. Nothing happens to a stream that is not there.
  void forget(StreamId stream);

  // Of a stream whose state was put.
  Entry& entry(StreamId stream);

  // The number that the batch being collected will have.
  std::uint64_t collecting() const { return last_batch_ + 1; }

  // The batch, if anything was put. Closes the segment when it is full.
  std::optional<JournalWrite> take();

  // That batch, and all before it, is written.
  void on_written(std::uint64_t batch);

  // Streams whose state is in the oldest segments, while there are more than
  // segments_max or they take more than half of bytes_max: each is to be put again as
  // a whole. Names each of them once, and before those named last are written no more than
  // fill kForwardBytes, or twice what else was put meanwhile, so that no client waits for
  // all of them. Names none while copying would write more than half of what it frees: with
  // so much that is needed, it would never be done.
  static constexpr std::uint64_t kForwardBytes = std::uint64_t{2} << 20;
  std::vector<StreamId> to_forward();

  // Segments that no stream needs, whose replacements are written, oldest first. Each
  // is named once, also while nothing can be written. They must be removed in this order; where
  // batches must survive a power loss, when all that are written are on the disk.
  std::vector<std::uint32_t> removable();

  // Space. A stream reserves before it is accepted what it can become; what it
  // writes is taken from it; its end gives the rest back. Copies come on top of that
  // for as long as what they replace is still there.
  bool can_reserve(std::uint64_t bytes) const;
  void reserve(StreamId stream, std::uint64_t bytes);

  std::uint64_t bytes() const { return bytes_; }  // In all segments, and in the batch.
  std::uint64_t reserved() const { return reserved_; }
  // What streams that have ended take up: their records, or their state and as much of
  // what nobody needs as is let lie beside it, whichever is more.
  std::uint64_t ended_bytes() const { return ended_bytes_; }
  std::size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    std::uint64_t bytes = 0;
    std::set<StreamId> streams;     // Whose state is here.
    std::uint64_t state_bytes = 0;  // Of them all, if they were put again.
    std::uint64_t last_batch = 0;   // Of its own: it is written before it can go.
    // Streams that are there and had a state here, and the batch of the next one.
    std::map<StreamId, std::uint64_t> replaced;
    bool emptying = false;  // Its streams are to be copied forward.
  };

  Segment& current();
  Segment& segment(std::uint32_t number);
  template <typename Record>
  void put_tokens(const Record& record, Offset from, std::uint64_t count, Entry& stream);
  template <typename Record>
  std::uint64_t write(const Record& record);
  static void check_append(const Entry& entry, Generation gen);
  static std::uint64_t ended_bytes_of(const Entry& entry);
  void grow(Entry& entry, std::uint64_t bytes);
  void leave(StreamId stream, Entry& entry);
  void enter(StreamId stream, Entry& entry, std::uint32_t segment, std::uint64_t state_bytes);
  void spend(Entry& entry, std::uint64_t bytes);
  bool crowded(std::size_t segments, std::uint64_t bytes) const;
  void empty_oldest();

  const JournalLimits limits_;
  std::map<std::uint32_t, Segment> segments_;
  std::unordered_map<StreamId, Entry> streams_;
  std::deque<StreamId> forward_;  // Not named yet. Some were put or forgotten meanwhile.
  std::uint64_t forwarded_ = 0;   // The batch with those named last.
  std::uint64_t put_since_ = 0;   // Bytes besides copies while some are not named.
  std::string batch_;
  std::uint64_t last_batch_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t ended_bytes_ = 0;
  std::uint32_t segment_ = 0;   // Being written.
  Segment* current_ = nullptr;  // Its own, once something was put.
};

}  // namespace seedance::stream
