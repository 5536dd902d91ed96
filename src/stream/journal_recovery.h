// What a journal says after a restart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "stream/journal_record.h"

namespace seedance::stream {

// One stream as the journal has it.
struct RecoveredStream {
  StateRecord state;
  std::uint32_t segment = 0;  // The oldest that it needs.
  std::uint64_t bytes = 0;    // Of its records since.

  friend bool operator==(const RecoveredStream&, const RecoveredStream&) = default;
};

struct Recovery {
  std::vector<RecoveredStream> streams;                           // By id: the oldest first.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments;  // Number and bytes, in order.
  std::uint64_t bytes_cut = 0;                                    // Behind the last whole record.
  bool lost_tail = false;  // Committed tokens may be lost: unfinished streams need a new epoch.
  // What their epochs grow by then. Another number in each boot: the new epoch can be
  // lost like the tokens, and must not be given to another log after that.
  std::uint32_t epoch_step = 1;

  std::uint32_t next_segment() const { return segments.empty() ? 1 : segments.back().first + 1; }
};

// Folds segments, oldest first, into the streams that they hold (design: the same
// records give the same streams, whatever copying forward happened in between).
//
// A record that is cut off at the very end of a segment is what the death of a
// process leaves: it is dropped. Any other damage in a segment of the present boot
// is corruption and fails with the segment, the byte and what is wrong. In a segment
// of another boot the journal is cut at the first damage behind the last sync mark,
// and later segments are dropped; damage before a mark is corruption there too.
// `lost_tail` is set after another boot whether there was damage or not, unless the
// segments say that nothing in them counted as written before it was on the disk:
// the system may have dropped whole pages' worth of records.
//
// Pure: the owner reads the files. Segments are fed in the order of their numbers.
// A later segment can turn damage into corruption: nothing is to be changed on the
// disk before finish(). After a failure the reader is of no more use.
class JournalReader {
 public:
  struct Options {
    BootId boot = {};  // Of this start.
  };

  explicit JournalReader(Options options) : options_(options) {}

  // The whole of one segment. Gives how many bytes of it count: the owner cuts the
  // file there (0 = remove it).
  Result<std::size_t> on_segment(std::uint32_t number, Bytes bytes);

  // Behind the last segment.
  Recovery finish();

 private:
  struct Held {
    RecoveredStream recovered;
    bool exposed = false;  // What was committed since it was last driven may be lost.
  };
  // Where the journal ends, and why.
  struct Damage {
    std::uint32_t segment = 0;
    std::size_t at = 0;
    std::string what;
  };
  // The segment being read.
  struct Segment {
    std::uint32_t number = 0;
    Bytes bytes;
    SegmentHeader header;
    bool marked = false;  // It has a sync mark so far.
  };

  Result<std::size_t> read_records(Segment& segment);
  Result<std::size_t> without_header(std::uint32_t number, Bytes bytes, const Error& error);
  Result<std::size_t> behind_damage(std::uint32_t number, Bytes bytes,
                                    const Result<SegmentHeader>& header);
  Result<std::size_t> cut(std::uint32_t number, Bytes bytes, Damage damage);

  // Each gives what is wrong with the record; empty = nothing.
  std::string_view apply(StateRecord& record, std::size_t bytes, Segment& segment);
  std::string_view apply(TokensRecord& record, std::size_t bytes, Segment& segment);
  std::string_view apply(EndRecord& record, std::size_t bytes, Segment& segment);
  std::string_view apply(DriveRecord& record, std::size_t bytes, Segment& segment);
  std::string_view apply(ForgetRecord& record, std::size_t bytes, Segment& segment);
  std::string_view apply(SyncRecord& record, std::size_t bytes, Segment& segment);
  std::string_view unknown(StreamId stream) const;
  Held* find(StreamId stream);

  Options options_;
  std::unordered_map<StreamId, Held> streams_;
  std::unordered_set<StreamId> forgotten_;
  Recovery recovery_;
  std::optional<Damage> damage_;
  JournalRecord record_;        // Its memory is used again and again.
  std::optional<BootId> boot_;  // Of the last header that could be read.
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  bool exposed_ = false;  // The end of what counts was perhaps not on the disk.
};

}  // namespace seedance::stream
