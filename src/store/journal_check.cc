#include "store/journal_check.h"

#include <fmt/format.h>

#include "io/file_system.h"
#include "store/journal_directory.h"
#include "stream/journal_record.h"

namespace seedance::store {

SegmentCheck check_segment(std::uint32_t number, Bytes bytes) {
  SegmentCheck check{.number = number, .bytes = bytes.size()};
  const auto header = stream::decode_segment_header(bytes);
  if (!header) {
    check.problem = header.error();
    return check;
  }
  if (header->segment != number) {
    check.problem = {Errc::corrupt, fmt::format("it is segment {}", header->segment)};
    return check;
  }
  check.sound_bytes = stream::kSegmentHeaderBytes;
  while (check.sound_bytes < bytes.size()) {
    const auto record = stream::decode_record(bytes.subspan(check.sound_bytes));
    if (!record) {
      check.problem = record.error();
      return check;
    }
    check.sound_bytes += record->bytes;
    ++check.records;
  }
  return check;
}

Result<std::vector<SegmentCheck>> check_segments(const std::string& directory) {
  const auto numbers = list_segments(directory);
  if (!numbers) return std::unexpected(numbers.error());
  std::vector<SegmentCheck> checks;
  for (const std::uint32_t number : *numbers) {
    const auto bytes = io::read_file(segment_path(directory, number));
    if (!bytes) return std::unexpected(bytes.error());
    checks.push_back(check_segment(number, as_bytes(*bytes)));
  }
  return checks;
}

}  // namespace seedance::store
