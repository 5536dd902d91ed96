#include "base/id.h"

namespace seedance {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr int kDigitCount = 26;  // 130 bits: the first digit holds only three.

// The five bits that start `shift` bits above the lowest.
unsigned five_bits(StreamId id, int shift) {
  if (shift >= 64) return static_cast<unsigned>(id.high >> (shift - 64)) & 31;
  std::uint64_t bits = id.low >> shift;
  if (shift > 59) bits |= id.high << (64 - shift);
  return static_cast<unsigned>(bits) & 31;
}

}  // namespace

StreamId make_stream_id(std::uint64_t wall_ms, const std::array<std::uint8_t, 10>& entropy) {
  StreamId id{.high = wall_ms << 16, .low = 0};
  id.high |= std::uint64_t{entropy[0]} << 8 | entropy[1];
  for (std::size_t i = 2; i < entropy.size(); ++i) id.low = id.low << 8 | entropy[i];
  return id;
}

std::string to_text(StreamId id) {
  std::string text{kStreamIdPrefix};
  for (int digit = kDigitCount - 1; digit >= 0; --digit) text += kDigits[five_bits(id, digit * 5)];
  return text;
}

std::optional<StreamId> parse_stream_id(std::string_view text) {
  if (!text.starts_with(kStreamIdPrefix)) return std::nullopt;
  text.remove_prefix(kStreamIdPrefix.size());
  if (text.size() != kDigitCount) return std::nullopt;
  StreamId id;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || id.high >> 59 != 0) return std::nullopt;
    id.high = id.high << 5 | id.low >> 59;
    id.low = id.low << 5 | digit;
  }
  return id;
}

}  // namespace seedance
