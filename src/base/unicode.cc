#include "base/unicode.h"

#include <algorithm>

namespace seedance {
namespace {

// States of a UTF-8 recogniser: how many continuation bytes are due and what
// range the next one must be in (RFC 3629 section 4).
enum State : std::uint8_t {
  kStart,
  kOneMore,
  kTwoMore,
  kThreeMore,
  kAfterE0,  // A0..BF: no overlong three-byte forms.
  kAfterEd,  // 80..9F: no surrogates.
  kAfterF0,  // 90..BF: no overlong four-byte forms.
  kAfterF4,  // 80..8F: nothing beyond U+10FFFF.
  kReject,
};

std::uint8_t first_byte(std::uint8_t byte) {
  if (byte < 0x80) return kStart;
  if (byte < 0xC2) return kReject;
  if (byte < 0xE0) return kOneMore;
  if (byte == 0xE0) return kAfterE0;
  if (byte == 0xED) return kAfterEd;
  if (byte < 0xF0) return kTwoMore;
  if (byte == 0xF0) return kAfterF0;
  if (byte < 0xF4) return kThreeMore;
  return byte == 0xF4 ? kAfterF4 : kReject;
}

std::uint8_t advance(std::uint8_t state, std::uint8_t byte) {
  const auto in = [byte](int low, int high) { return byte >= low && byte <= high; };
  switch (state) {
    case kStart:
      return first_byte(byte);
    case kOneMore:
      return in(0x80, 0xBF) ? kStart : kReject;
    case kTwoMore:
      return in(0x80, 0xBF) ? kOneMore : kReject;
    case kThreeMore:
      return in(0x80, 0xBF) ? kTwoMore : kReject;
    case kAfterE0:
      return in(0xA0, 0xBF) ? kOneMore : kReject;
    case kAfterEd:
      return in(0x80, 0x9F) ? kOneMore : kReject;
    case kAfterF0:
      return in(0x90, 0xBF) ? kTwoMore : kReject;
    case kAfterF4:
      return in(0x80, 0x8F) ? kTwoMore : kReject;
    default:
      return kReject;
  }
}

}  // namespace

bool Utf8Validator::feed(std::string_view piece) {
  for (const char c : piece) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (state_ == kStart && byte < 0x80) continue;
    state_ = advance(state_, byte);
    if (state_ == kReject) return false;
  }
  return state_ != kReject;
}

bool is_utf8(std::string_view text) {
  Utf8Validator validator;
  return validator.feed(text) && validator.complete();
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(3, text.size()); ++size) {
    Utf8Validator validator;
    if (validator.feed(text.substr(text.size() - size)) && !validator.complete()) return size;
  }
  return 0;
}

void append_valid_utf8(std::string& out, std::string_view text) {
  std::size_t begin = 0;  // Of the character that is being read.
  std::uint8_t state = kStart;
  for (std::size_t at = 0; at < text.size();) {
    state = advance(state, static_cast<std::uint8_t>(text[at]));
    if (state == kReject) {
      out += kReplacement;
      if (at == begin) ++at;  // A byte that starts nothing; otherwise it may start the next.
      begin = at;
      state = kStart;
      continue;
    }
    ++at;
    if (state == kStart) {
      out.append(text, begin, at - begin);
      begin = at;
    }
  }
  if (begin < text.size()) out += kReplacement;
}

}  // namespace seedance
