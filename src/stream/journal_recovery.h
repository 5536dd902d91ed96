// What a journal says after a restart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "stream/journal_record.h"

namespace seedance::stream {

// One stream as the journal has it.
struct RecoveredStream {
  StateRecord state;
  std::uint32_t server_starts = 0;  // Since its last token.
  std::uint32_t segment = 0;        // The oldest that it needs.
  std::uint64_t bytes = 0;          // Of its records since.

  friend bool operator==(const RecoveredStream&, const RecoveredStream&) = default;
};

struct Recovery {
  std::vector<RecoveredStream> streams;  // By id: the oldest first.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments;  // Number and bytes, in order.
  std::uint64_t bytes_cut = 0;   // Behind the last whole record.
  bool lost_tail = false;        // Committed tokens may be lost: unfinished streams need a new epoch.

  std::uint32_t next_segment() const { return segments.empty() ? 1 : segments.back().first + 1; }
};

// Folds segments, oldest first, into the streams that they hold (design: the same
// records give the same streams, whatever copying forward happened in between).
//
// A record that is cut off at the very end of a segment is what the death of a
// process leaves: it is dropped. Any other damage under the same boot id is
// corruption and fails with the segment, the byte and what is wrong. Under another
// boot id, unless `synced_always`, the journal is cut at the first damage behind
// the last sync mark, and `lost_tail` is set whether there was damage or not: the
// system may have dropped whole pages' worth of records.
//
// Pure: the owner reads the files. Segments are fed in the order of their numbers.
class JournalReader {
 public:
  struct Options {
    BootId boot = {};  // Of this start.
  };

  explicit JournalReader(Options options);

  // The whole of one segment. Gives how many bytes of it count: the owner cuts the
  // file there (0 = remove it).
  Result<std::size_t> on_segment(std::uint32_t number, Bytes bytes);

  // Behind the last segment.
  Recovery finish();
};

}  // namespace seedance::stream
