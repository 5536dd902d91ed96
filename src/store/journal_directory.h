// What stands in a journal's directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/file_system.h"
#include "stream/journal_recovery.h"

namespace seedance::store {

// Files of a directory, as paths. Any others in it are not ours.
std::string lock_path(const std::string& directory);
std::string segment_path(const std::string& directory, std::uint32_t segment);
// Where a file is written before it takes its name.
std::string temporary_path(const std::string& path);

// There when the journal was ended in order: everything was on the disk, and nothing
// came after.
std::string ended_path(const std::string& directory);

// On the disk when it succeeds.
Result<void> mark_ended(io::FileSystem& files, const std::string& directory);
Result<void> unmark_ended(io::FileSystem& files, const std::string& directory);

struct SegmentFile {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_kept = 0;  // The rest does not count; 0 = neither does the file.

  friend bool operator==(const SegmentFile&, const SegmentFile&) = default;
};

struct JournalContents {
  std::vector<SegmentFile> segments;   // In order.
  std::vector<std::string> leftovers;  // Paths of ours that never took their name.
  bool ended = false;                  // In order.
  stream::Recovery recovery;
};

// Reads all of it, as a start of the server under this boot id would, and changes
// nothing. Corrupt when a start would refuse; the error names the file.
Result<JournalContents> read_journal(const std::string& directory, const stream::BootId& boot);

// The numbers of the segment files there, in order.
Result<std::vector<std::uint32_t>> list_segments(const std::string& directory);

// Makes the directory what read_journal() said of it: cuts and removes, the newest
// first, so that a death in between leaves no gap. On the disk when it succeeds.
Result<void> cut(io::FileSystem& files, const std::string& directory,
                 const JournalContents& contents);

}  // namespace seedance::store
