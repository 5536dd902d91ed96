// Any bytes are a journal or are refused: never a crash, and what is read is exactly
// what encode() writes, and is read again from what counts of it.
//
// The input: a byte of options, then records without their checksums: a byte for the
// kind, two for the size of the body, the body. So the fields are reached, which no
// fuzzer finds behind a checksum. Option 1 takes the bytes as they are instead.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/crc32c.h"
#include "stream/journal_recovery.h"

namespace {

using namespace seedance;
using namespace seedance::stream;

constexpr std::uint8_t kRaw = 1, kOtherBoot = 2, kSyncedAlways = 4, kSecondSegment = 8;
constexpr BootId kBoot = {1};

std::string framed(std::string_view bytes) {
  std::string out;
  while (bytes.size() >= 3) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
    const std::size_t size = std::min<std::size_t>(bytes.size() - 3, byte(1) + 256U * byte(2));
    const std::string_view body = bytes.substr(3, size);
    const std::size_t begin = out.size();
    append(out, static_cast<std::uint32_t>(size), std::endian::little);
    append(out, std::uint32_t{byte(0)}, std::endian::little);
    append(out, crc32c(as_bytes(body)), std::endian::little);
    append(out, crc32c(as_bytes(out).subspan(begin)), std::endian::little);
    out += body;
    bytes.remove_prefix(3 + size);
  }
  return out;
}

void check_records(std::string_view bytes) {
  JournalRecord record;
  while (!bytes.empty()) {
    const auto size = decode_record(as_bytes(bytes), record);
    if (!size) return;
    std::string again;
    encode(record, again);
    SEEDANCE_CHECK(again == bytes.substr(0, *size), "decoding loses nothing");
    SEEDANCE_CHECK(!describe(record).empty(), "every record can be described");
    bytes.remove_prefix(*size);
  }
}

struct Outcome {
  std::string streams;
  std::vector<std::string> segments;  // What counts of them.
};

std::optional<Outcome> read(const std::vector<std::string>& segments, const BootId& boot) {
  JournalReader reader{{.boot = boot}};
  Outcome outcome;
  std::uint64_t cut = 0;
  std::uint32_t number = 0;
  for (const std::string& bytes : segments) {
    const auto kept = reader.on_segment(++number, as_bytes(bytes));
    if (!kept) {
      SEEDANCE_CHECK(kept.error().code == Errc::corrupt, "a journal is read, or is corrupt");
      return std::nullopt;
    }
    SEEDANCE_CHECK(*kept <= bytes.size(), "no more counts than there is");
    cut += bytes.size() - *kept;
    if (*kept > 0) outcome.segments.push_back(bytes.substr(0, *kept));
  }
  const Recovery recovery = reader.finish();
  SEEDANCE_CHECK(recovery.bytes_cut == cut, "what is cut is counted");
  for (const RecoveredStream& stream : recovery.streams) encode(stream.state, outcome.streams);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t options = data[0];
  const std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::string records = (options & kRaw) != 0 ? std::string{rest} : framed(rest);
  check_records(records);

  std::vector<std::string> segments(1);
  const bool synced = (options & kSyncedAlways) != 0;
  encode(SegmentHeader{.segment = 1, .boot = kBoot, .created = {}, .synced_always = synced},
         segments[0]);
  segments[0] += records;
  if ((options & kSecondSegment) != 0) {
    encode(SegmentHeader{.segment = 2, .boot = kBoot, .created = {}, .synced_always = synced},
           segments.emplace_back());
    segments[1] += records;
  }
  const BootId boot = (options & kOtherBoot) != 0 ? BootId{2} : kBoot;
  const auto outcome = read(segments, boot);
  if (outcome) {
    const auto again = read(outcome->segments, boot);
    SEEDANCE_CHECK(again && again->streams == outcome->streams, "what counts can be read again");
  }
  JournalReader raw{{.boot = boot}};
  (void)raw.on_segment(1, std::as_bytes(std::span{data, size}));
  return 0;
}
