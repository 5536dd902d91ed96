// How a journal of files is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "stream/journal_record.h"

namespace seedance::store {

// Which bytes must be on the disk before they count as written. Whatever ends the
// process, all that counts as written is there afterwards; the difference is what
// the end of the whole machine leaves.
enum class Sync : std::uint8_t {
  none,      // Whatever the system has brought to the disk.
  interval,  // All but that of the last interval.
  always,    // All.
};

std::string_view name(Sync sync);
std::optional<Sync> parse_sync(std::string_view name);

// What is added to a batch at most: stream::JournalLimits::batch_bytes_extra.
std::uint32_t batch_bytes_extra(Sync sync);

// Of this machine; changes with every start of it.
Result<stream::BootId> read_boot_id();

// "01234567-89ab-cdef-0123-456789abcdef", as the kernel writes it.
std::optional<stream::BootId> parse_boot_id(std::string_view text);

struct JournalOptions {
  std::string directory;
  Sync sync = Sync::none;
  Duration sync_interval = std::chrono::milliseconds{100};
  // Blocks of a segment that are reserved when it is begun; 0 = none.
  std::uint64_t segment_reserve_bytes = std::uint64_t{16} << 20;
  // With `interval` and `always`, what was written since the last sync is kept in
  // memory, to be written again elsewhere when a sync fails. With as much of it
  // there is a sync at once.
  std::uint64_t unsynced_bytes_max = std::uint64_t{16} << 20;
  std::optional<stream::BootId> boot = {};  // None = of this machine, now.
};

}  // namespace seedance::store
