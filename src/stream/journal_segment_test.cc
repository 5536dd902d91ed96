#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

constexpr SegmentHeader kHeader{
    .segment = 42, .boot = {1, 2, 3}, .created = {}, .synced_always = true};

std::string encoded(const SegmentHeader& header) {
  std::string out;
  encode(header, out);
  return out;
}

// `header` with another byte, and its checksum right again.
std::string changed(std::string bytes, std::size_t at, char value) {
  bytes.at(at) = value;
  bytes.resize(kSegmentHeaderBytes - 4);
  append(bytes, crc32c(as_bytes(bytes)), std::endian::little);
  return bytes;
}

TEST(SegmentHeader, ReadsBack) {
  for (const bool synced : {false, true}) {
    SegmentHeader header = kHeader;
    header.created = wall(-7);
    header.synced_always = synced;
    const std::string bytes = encoded(header);
    ASSERT_EQ(bytes.size(), kSegmentHeaderBytes);
    const auto read = decode_segment_header(as_bytes(bytes + "behind"));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, header);
  }
}

TEST(SegmentHeader, IsTruncatedOrCorruptWhenCutOrFlipped) {
  const std::string bytes = encoded(kHeader);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = decode_segment_header(as_bytes(bytes).first(size));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::truncated);
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto read = decode_segment_header(as_bytes(flipped));
    ASSERT_FALSE(read) << bit;
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

TEST(SegmentHeader, ChecksEveryField) {
  const std::string bytes = encoded(kHeader);
  EXPECT_TRUE(decode_segment_header(as_bytes(changed(bytes, 12, 7))));
  for (const auto& [at, value] : {std::pair{8, 1}, {12, 0}, {40, 2}, {41, 1}, {59, 1}}) {
    const std::string wrong =
        changed(bytes, static_cast<std::size_t>(at), static_cast<char>(value));
    EXPECT_FALSE(decode_segment_header(as_bytes(wrong))) << at;
  }
}

TEST(SegmentName, ReadsBack) {
  EXPECT_EQ(segment_name(42), "0000000042.journal");
  for (const std::uint32_t segment : {1U, 42U, 999'999'999U, 4'294'967'295U}) {
    EXPECT_EQ(parse_segment_name(segment_name(segment)), segment);
  }
}

TEST(SegmentName, IsNothingElse) {
  for (const std::string_view name :
       {"", ".journal", "42.journal", "0000000000.journal", "0000000042", "0000000042.journal.tmp",
        "00000000042.journal", "000000004x.journal", "-000000042.journal", "+000000042.journal",
        "9999999999.journal", " 000000042.journal", "lock"}) {
    EXPECT_EQ(parse_segment_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace seedance::stream
