#include "llama/schema_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/unicode.h"

namespace seedance::llama {
namespace {

using Range = std::pair<char32_t, char32_t>;  // Both ends included.
using Set = std::vector<Range>;

constexpr char32_t kLast = 0x10FFFF;

// What JSON writes with a backslash and a letter.
constexpr std::array<std::pair<char32_t, char>, 7> kEscapes{
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

Set normal(Set set) {
  std::ranges::sort(set);
  Set merged;
  for (const Range& each : set) {
    if (!merged.empty() && each.first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, each.second);
    } else {
      merged.push_back(each);
    }
  }
  return merged;
}

Set inverse(const Set& set) {
  Set others;
  char32_t begin = 0;
  for (const auto& [first, last] : normal(set)) {
    if (first > begin) others.emplace_back(begin, first - 1);
    begin = last + 1;
  }
  if (begin <= kLast) others.emplace_back(begin, kLast);
  return others;
}

bool contains(const Set& set, char32_t character) {
  return std::ranges::any_of(
      set, [&](const Range& each) { return each.first <= character && character <= each.second; });
}

// What may stand between the quotes as it is, as the converter's own strings have it.
Set plain(const Set& set) {
  static const Set kPlain = inverse({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
  Set both;
  for (const Range& each : set) {
    for (const Range& may : kPlain) {
      const Range part{std::max(each.first, may.first), std::min(each.second, may.second)};
      if (part.first <= part.second) both.push_back(part);
    }
  }
  return both;
}

void append_character(std::string& out, char32_t character) {
  const bool simple = (character >= '0' && character <= '9') ||
                      (character >= 'A' && character <= 'Z') ||
                      (character >= 'a' && character <= 'z');
  if (simple) {
    out += static_cast<char>(character);
  } else {
    out += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(character));
  }
}

void append_set(std::string& out, const Set& set) {
  out += '[';
  for (const auto& [first, last] : set) {
    append_character(out, first);
    if (first == last) continue;
    out += '-';
    append_character(out, last);
  }
  out += ']';
}

// Empty where JSON has no short way to write any of them.
std::string atom_of(const Set& set) {
  std::vector<std::string> ways;
  if (const Set as_is = plain(set); !as_is.empty()) append_set(ways.emplace_back(), as_is);
  for (const auto& [character, letter] : kEscapes) {
    if (!contains(set, character)) continue;
    std::string& way = ways.emplace_back();
    append_set(way, {{'\\', '\\'}});
    append_set(way, {{letter, letter}});
  }
  if (ways.size() == 1 && ways.front().find("][") == std::string::npos) return ways.front();
  return ways.empty() ? "" : fmt::format("({})", fmt::join(ways, "|"));
}

std::optional<Set> class_of(char letter) {
  static const Set kDigits{{'0', '9'}};
  static const Set kWords{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  static const Set kSpaces{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                           {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                           {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  switch (letter) {
    case 'd':
      return kDigits;
    case 'D':
      return inverse(kDigits);
    case 'w':
      return kWords;
    case 'W':
      return inverse(kWords);
    case 's':
      return kSpaces;
    case 'S':
      return inverse(kSpaces);
    default:
      return std::nullopt;
  }
}

// Reads from left to right, groups by recursion; the first error stays, and stops everything.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : text_(pattern) {}

  Result<std::string> translate() {
    if (!is_utf8(text_)) return seedance::fail(Errc::invalid, "is not UTF-8");
    if (!take('^')) return seedance::fail(Errc::invalid, "does not begin with ^");
    out_ = "^";
    read_alternatives(0);
    if (!failed() && !take('$')) fail("does not end with $");
    if (!failed() && at_ < text_.size()) fail("goes on after $");
    if (failed()) return seedance::fail(Errc::invalid, why_);
    out_ += '$';
    return std::move(out_);
  }

 private:
  bool failed() const { return !why_.empty(); }
  void fail(std::string why) {
    if (!failed()) why_ = std::move(why);
  }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }

  void read_alternatives(std::size_t depth) {
    while (!failed() && !at_end() && peek() != ')' && peek() != '$') {
      if (out_.size() > kPatternBytesMax) return fail("is too long");
      if (take('|')) {
        out_ += '|';
      } else {
        read_atom(depth);
        read_repetition();
      }
    }
  }

  void read_atom(std::size_t depth) {
    const char c = peek();
    if (c == '(') return read_group(depth);
    if (c == '[') return put(read_set());
    if (c == '.') {
      ++at_;
      return put(inverse({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    }
    if (c == '\\') return put(read_escape());
    if (std::string_view{"^*+?{}]"}.contains(c)) {
      return fail(fmt::format("has a \"{}\" where it means nothing that can be kept to", c));
    }
    const char32_t character = read_utf8();
    put({{character, character}});
  }

  void put(const Set& set) {
    if (failed()) return;
    const std::string atom = atom_of(set);
    if (atom.empty()) return fail("has a set of which no character can be written");
    out_ += atom;
  }

  void read_group(std::size_t depth) {
    if (depth == kPatternDepthMax) {
      return fail(fmt::format("has more than {} groups in each other", kPatternDepthMax));
    }
    ++at_;
    if (peek() == '?') {
      if (peek(1) != ':') return fail("looks ahead or behind, or names a group");
      at_ += 2;
    }
    out_ += '(';
    read_alternatives(depth + 1);
    if (!failed() && peek() == '$') fail("has a $ before its end");
    if (!failed() && !take(')')) fail("has a group without an end");
    out_ += ')';
  }

  void read_repetition() {
    if (failed()) return;
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      out_ += c;
    } else if (c == '{') {
      ++at_;
      read_counts();
    } else {
      return;
    }
    take('?');  // How much it takes first is the same in the end.
    if (std::string_view{"*+?{"}.contains(peek()) && !at_end()) {
      fail("repeats a repetition; put it into a group");
    }
  }

  void read_counts() {
    const auto least = read_count();
    auto most = least;
    bool endless = false;
    if (take(',')) {
      endless = peek() == '}';
      most = endless ? least : read_count();
    }
    if (!take('}') || !least || !most || *least > *most) {
      return fail(fmt::format("has a count that is none, or above {}", kPatternRepeatsMax));
    }
    out_ += endless ? fmt::format("{{{},}}", *least) : fmt::format("{{{},{}}}", *least, *most);
  }

  std::optional<std::size_t> read_count() {
    std::optional<std::size_t> count;
    while (peek() >= '0' && peek() <= '9') {
      count = count.value_or(0) * 10 + static_cast<std::size_t>(peek() - '0');
      if (*count > kPatternRepeatsMax) return std::nullopt;
      ++at_;
    }
    return count;
  }

  Set read_set() {
    ++at_;
    const bool inverted = take('^');
    Set set;
    while (!failed() && !at_end() && peek() != ']') {
      Set each = read_member();
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        const Set end = at_end() ? Set{} : read_member();
        if (!is_one(each) || !is_one(end) || each.front().first > end.front().first) {
          fail("has a range in a set that is none");
        } else {
          each.front().second = end.front().first;
        }
      }
      std::ranges::copy(each, std::back_inserter(set));
    }
    if (!failed() && !take(']')) fail("has a set without an end");
    return inverted ? inverse(set) : normal(std::move(set));
  }

  static bool is_one(const Set& set) {
    return set.size() == 1 && set.front().first == set.front().second;
  }

  Set read_member() {
    if (peek() == '\\') return read_escape();
    const char32_t character = read_utf8();
    return {{character, character}};
  }

  Set read_escape() {
    ++at_;
    const char c = peek();
    if (auto set = class_of(c)) return ++at_, *std::move(set);
    ++at_;
    if (c == 'x' || c == 'u') return read_hex(c == 'x' ? 2 : 4);
    for (const auto& [letter, character] :
         {std::pair{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'}, {'v', '\v'}}) {
      if (c == letter) return one(static_cast<unsigned char>(character));
    }
    if (std::string_view{"^$\\.*+?()[]{}|/-\"'@#%&,:;<>=!~`_ "}.contains(c) &&
        at_ <= text_.size()) {
      return one(static_cast<unsigned char>(c));
    }
    fail("has an escape that cannot be kept to");
    return {};
  }

  static Set one(char32_t character) { return {{character, character}}; }

  Set read_hex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const auto digit = std::string_view{"0123456789abcdef"}.find(
          static_cast<char>(peek() >= 'A' && peek() <= 'F' ? peek() + ('a' - 'A') : peek()));
      if (at_end() || digit == std::string_view::npos) {
        fail("has an escape without its hex digits");
        return {};
      }
      value = value << 4U | static_cast<char32_t>(digit);
    }
    if (value >= 0xD800 && value <= 0xDFFF) fail("has half a character as an escape");
    return one(value);
  }

  // The text is UTF-8.
  char32_t read_utf8() {
    const auto lead = static_cast<unsigned char>(text_[at_++]);
    if (lead < 0x80) return lead;
    char32_t value = lead & (lead < 0xE0 ? 0x1FU : lead < 0xF0 ? 0x0FU : 0x07U);
    while ((static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U) {
      value = value << 6U | (static_cast<unsigned char>(text_[at_++]) & 0x3FU);
    }
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string why_;
};

}  // namespace

Result<std::string> json_pattern(std::string_view pattern) {
  return Translator{pattern}.translate();
}

}  // namespace seedance::llama
