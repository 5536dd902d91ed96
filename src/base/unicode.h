// UTF-8 (RFC 3629): what is whole, what is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seedance {

// U+FFFD, which stands for bytes that are no UTF-8.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_utf8(std::string_view text);

// How many bytes at the end are the beginning of a character that further bytes
// could complete: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

// Appends `text` with every maximal ill-formed part replaced by U+FFFD
// (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts").
void append_valid_utf8(std::string& out, std::string_view text);

// Validates a text that comes in pieces and fails at the first wrong byte.
class Utf8Validator {
 public:
  // False from the first byte on that no UTF-8 text can hold.
  bool feed(std::string_view piece);

  // Whether what was fed is whole: no character is unfinished.
  bool complete() const { return state_ == 0; }

 private:
  std::uint8_t state_ = 0;
};

}  // namespace seedance
