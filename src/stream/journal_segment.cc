// The segment files of a journal: their names and how each begins.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/crc32c.h"
#include "stream/journal_record.h"

namespace seedance::stream {
namespace {

constexpr std::string_view kMagic = "SEEDJRNL";
constexpr std::uint32_t kVersion = 3;
constexpr std::string_view kSuffix = ".journal";
constexpr std::size_t kDigits = 10;

// Where the fields stand; all that is not named is zero.
constexpr std::size_t kVersionAt = 8, kSegmentAt = 12, kBootAt = 16, kCreatedAt = 32,
                      kSyncedAt = 40, kReservedAt = 41, kChecksumAt = 60;
static_assert(kChecksumAt + sizeof(std::uint32_t) == kSegmentHeaderBytes);

}  // namespace

void encode(const SegmentHeader& header, std::string& out) {
  SEEDANCE_CHECK(header.segment > 0, "segments are numbered from 1");
  const std::size_t begin = out.size();
  out += kMagic;
  append(out, kVersion, std::endian::little);
  append(out, header.segment, std::endian::little);
  out.append(reinterpret_cast<const char*>(header.boot.data()), header.boot.size());
  append(out, header.created.time_since_epoch().count(), std::endian::little);
  out += header.synced_always ? '\1' : '\0';
  out.append(kChecksumAt - kReservedAt, '\0');
  append(out, crc32c(as_bytes(out).subspan(begin)), std::endian::little);
}

Result<SegmentHeader> decode_segment_header(Bytes bytes) {
  if (bytes.size() < kSegmentHeaderBytes) return fail(Errc::truncated, "a segment's header");
  const auto field = [&](std::size_t at) {
    return load<std::uint32_t>(bytes.data() + at, std::endian::little);
  };
  if (as_text(bytes.first(kMagic.size())) != kMagic) {
    return fail(Errc::corrupt, "this is no segment of a journal");
  }
  if (field(kChecksumAt) != crc32c(bytes.first(kChecksumAt))) {
    return fail(Errc::corrupt, "the checksum of a segment's header is wrong");
  }
  if (field(kVersionAt) != kVersion) {
    return fail(Errc::corrupt, fmt::format("a journal of version {}, and this program reads "
                                           "version {}: read it with the program that "
                                           "wrote it, or move its directory away",
                                           field(kVersionAt), kVersion));
  }
  const auto synced = std::to_integer<std::uint8_t>(bytes[kSyncedAt]);
  const Bytes reserved = bytes.subspan(kReservedAt, kChecksumAt - kReservedAt);
  const bool clean =
      std::ranges::all_of(reserved, [](std::byte byte) { return byte == std::byte{0}; });
  if (field(kSegmentAt) == 0 || synced > 1 || !clean) {
    return fail(Errc::corrupt, "the fields of a segment's header are wrong");
  }
  SegmentHeader header{.segment = field(kSegmentAt), .synced_always = synced == 1};
  std::memcpy(header.boot.data(), bytes.data() + kBootAt, header.boot.size());
  const auto created = load<std::int64_t>(bytes.data() + kCreatedAt, std::endian::little);
  header.created = WallTime{WallTime::duration{created}};
  return header;
}

std::string segment_name(std::uint32_t segment) {
  return fmt::format("{:010}{}", segment, kSuffix);
}

std::optional<std::uint32_t> parse_segment_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::uint32_t segment = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), segment);
  if (name.size() != kDigits || error != std::errc{} || end != name.data() + name.size() ||
      segment == 0) {
    return std::nullopt;
  }
  return segment;
}

}  // namespace seedance::stream
