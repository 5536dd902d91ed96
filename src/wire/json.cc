#include "wire/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/unicode.h"

namespace seedance::wire {
namespace {

// Whether a byte stands for itself: ASCII but for controls, quote and backslash.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

// Sets the top bit of every byte that is not plain, and may set that of plain
// bytes above it (Hacker's Delight, section 6-1).
std::uint64_t not_plain(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  const auto has_zero = [](std::uint64_t x) { return (x - kOnes) & ~x; };
  const std::uint64_t below_space = (word - kOnes * 0x20) & ~word;
  return (word | below_space | has_zero(word ^ (kOnes * '"')) | has_zero(word ^ (kOnes * '\\'))) &
         (kOnes * 0x80);
}

// The last eight bytes of a text; of a shorter one all, some of them twice, or spaces.
std::uint64_t last_bytes(std::string_view text) {
  std::uint64_t word = 0x2020'2020'2020'2020;
  if (text.size() >= sizeof word) {
    std::memcpy(&word, text.data() + text.size() - sizeof word, sizeof word);
  } else if (text.size() >= sizeof word / 2) {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::memcpy(&begin, text.data(), sizeof begin);
    std::memcpy(&end, text.data() + text.size() - sizeof end, sizeof end);
    word = begin | (std::uint64_t{end} << 32);
  } else {
    for (const char c : text) word = (word << 8) | static_cast<unsigned char>(c);
  }
  return word;
}

// Where the first byte at or behind `at` is that needs care.
std::size_t skip_plain(std::string_view text, std::size_t at) {
  std::uint64_t word = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (not_plain(word) != 0) break;
  }
  if (at + sizeof word > text.size() && not_plain(last_bytes(text)) == 0) return text.size();
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default: {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
}

template <typename T>
void append_number(std::string& out, T number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <typename T>
void append_real(std::string& out, T number) {
  if (std::isfinite(number)) {
    append_number(out, number);
  } else {
    out += "null";
  }
}

void append_escaped(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = skip_plain(text, at);
    out.append(text, at, end - at);
    at = end;
    // A run of bytes beyond ASCII is whole characters or no UTF-8.
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
    if (end > at) {
      append_valid_utf8(out, text.substr(at, end - at));
      at = end;
    } else if (at < text.size()) {
      append_escape(out, text[at++]);
    }
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

std::string_view json_text(std::string_view text, std::string& spill) {
  if (skip_plain(text, 0) == text.size()) return text;
  spill.clear();
  append_escaped(spill, text);
  return spill;
}

void JsonWriter::before_value() {
  if (comma_) *out_ += ',';
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  *out_ += '{';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  *out_ += '}';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  *out_ += '[';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  *out_ += ']';
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  append_json_string(*out_, name);
  *out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_json_string(*out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  return raw(flag ? "true" : "false");
}

JsonWriter& JsonWriter::value(float number) {
  before_value();
  append_real(*out_, number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  before_value();
  append_real(*out_, number);
  return *this;
}

JsonWriter& JsonWriter::null() {
  return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  *out_ += json;
  return *this;
}

JsonWriter& JsonWriter::signed_value(std::int64_t number) {
  before_value();
  append_number(*out_, number);
  return *this;
}

JsonWriter& JsonWriter::unsigned_value(std::uint64_t number) {
  before_value();
  append_number(*out_, number);
  return *this;
}

}  // namespace seedance::wire
