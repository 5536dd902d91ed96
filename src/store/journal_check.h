// Whether the bytes of a journal are sound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace seedance::store {

// What the bytes of one segment say by themselves, whatever stands in others.
struct SegmentCheck {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sound_bytes = 0;  // The header and the whole records in front.
  std::uint64_t records = 0;
  // Why the rest does not count: truncated for a record that the end cuts off, as a
  // death leaves it; corrupt for anything else.
  std::optional<Error> problem;

  friend bool operator==(const SegmentCheck&, const SegmentCheck&) = default;
};

SegmentCheck check_segment(std::uint32_t number, Bytes bytes);

// All segments of the directory, in order.
Result<std::vector<SegmentCheck>> check_segments(const std::string& directory);

}  // namespace seedance::store
