#include "text/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/unicode.h"

namespace seedance::text {
namespace {

using Element = GrammarElement;
using Sequence = std::vector<Element>;

// All characters that a text can hold: zero ends a string in llama.cpp, and surrogates are none.
constexpr CharRange kLow{1, 0xD7FF};
constexpr CharRange kHigh{0xE000, 0x10FFFF};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::uint32_t> hex_value(char c) {
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

// Sorted, merged and without what is no character.
std::vector<CharRange> normal(std::vector<CharRange> ranges, bool inverse) {
  std::ranges::sort(ranges);
  std::vector<CharRange> merged;
  for (const CharRange& each : ranges) {
    if (each.first > each.last) continue;
    if (!merged.empty() && each.first <= merged.back().last) {
      merged.back().last = std::max(merged.back().last, each.last);
    } else {
      merged.push_back(each);
    }
  }
  if (inverse) {
    std::vector<CharRange> others;
    char32_t begin = 0;
    for (const CharRange& each : merged) {
      if (each.first > begin) others.push_back({begin, each.first - 1});
      begin = each.last + 1;
      if (begin == 0) break;  // Behind the last number.
    }
    if (merged.empty() || begin != 0) others.push_back({begin, kHigh.last});
    merged = std::move(others);
  }
  std::vector<CharRange> result;
  for (const CharRange& each : merged) {
    for (const CharRange& valid : {kLow, kHigh}) {
      const CharRange both{std::max(each.first, valid.first), std::min(each.last, valid.last)};
      if (both.first <= both.last) result.push_back(both);
    }
  }
  return result;
}

// Reads from left to right; the first error stays, and stops everything.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Gbnf> parse() {
    if (!is_utf8(text_)) return fail(Errc::invalid, "this is not UTF-8");
    skip_space(Lines::all);
    while (!failed() && !at_end()) read_rule();
    if (!failed()) check_names();
    if (failed()) return std::unexpected(*error_);
    return std::move(gbnf_);
  }

 private:
  enum class Lines : std::uint8_t { one, all };

  struct Name {
    std::uint32_t rule = 0;
    std::size_t used = 0;  // Where it is first named.
    bool defined = false;
  };

  bool failed() const { return error_.has_value(); }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (at_end() || !text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void fail_at(std::size_t at, std::string_view what) {
    if (!failed()) error_ = gbnf_error(text_, at, what).error();
  }

  void skip_space(Lines lines) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\r' && peek() != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || (lines == Lines::all && (c == '\r' || c == '\n'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view read_name() {
    const std::size_t begin = at_;
    while (is_name_char(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::uint32_t rule_named(std::string_view name, std::size_t at) {
    const auto [found, added] = names_.try_emplace(name, Name{.used = at});
    if (added) found->second.rule = add_rule(at);
    return found->second.rule;
  }

  std::uint32_t add_rule(std::size_t at) {
    gbnf_.rules.push_back({.begin = at});
    return static_cast<std::uint32_t>(gbnf_.rules.size() - 1);
  }

  std::uint32_t add_set(std::vector<CharRange> ranges) {
    const auto next = static_cast<std::uint32_t>(gbnf_.sets.size());
    const auto [found, added] = sets_.try_emplace(std::move(ranges), next);
    if (added) gbnf_.sets.push_back(found->first);
    return found->second;
  }

  // So that no repetition makes more than there may be.
  void count(std::size_t elements) {
    elements_ += elements;
    if (elements_ <= kGrammarElementsMax) return;
    fail_at(at_, fmt::format("with its repetitions written out it has more than {} elements",
                             kGrammarElementsMax));
  }

  void push(Sequence& sequence, Element element) {
    count(1);
    if (!failed()) sequence.push_back(element);
  }

  void read_rule() {
    const std::size_t begin = at_;
    const std::string_view name = read_name();
    if (name.empty()) return fail_at(at_, "the name of a rule is missing");
    skip_space(Lines::one);
    if (!take("::=")) return fail_at(at_, "\"::=\" is missing");
    const std::uint32_t rule = rule_named(name, begin);
    if (std::exchange(names_.at(name).defined, true)) {
      return fail_at(begin, "this rule is there already");
    }
    gbnf_.rules[rule].begin = begin;
    skip_space(Lines::all);
    read_alternatives(rule, 0);
    if (failed()) return;
    if (!at_end() && peek() != '\r' && peek() != '\n') {
      return fail_at(at_, "this is no part of a rule");
    }
    skip_space(Lines::all);
  }

  // Groups are read by recursion, no deeper than they may be.
  void read_alternatives(std::uint32_t rule, std::size_t depth) {
    while (!failed()) {
      count(1);  // Its end.
      Sequence sequence = read_sequence(rule, depth);
      gbnf_.rules[rule].alternatives.push_back(std::move(sequence));
      if (!take("|")) return;
      skip_space(Lines::all);
    }
  }

  Sequence read_sequence(std::uint32_t rule, std::size_t depth) {
    const Lines lines = depth > 0 ? Lines::all : Lines::one;
    Sequence sequence;
    std::size_t symbol = 0;  // Where the last one begins.
    while (!failed() && !at_end()) {
      const char c = peek();
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        read_repetition(sequence, symbol, lines);
      } else if (c == '"' || c == '[' || c == '(' || c == '.' || is_name_char(c)) {
        symbol = sequence.size();
        read_symbol(sequence, rule, depth);
      } else if (c == '<' || c == '!') {
        fail_at(at_, "tokens cannot be named: write their text");
      } else {
        break;
      }
      skip_space(lines);
    }
    return sequence;
  }

  void read_symbol(Sequence& sequence, std::uint32_t rule, std::size_t depth) {
    if (peek() == '"') {
      read_literal(sequence);
    } else if (peek() == '[') {
      read_set(sequence);
    } else if (take(".")) {
      push(sequence, {Element::Kind::chars, add_set({kLow, kHigh})});
    } else if (peek() == '(') {
      read_group(sequence, rule, depth);
    } else {
      const std::size_t begin = at_;
      const std::string_view name = read_name();
      push(sequence, {Element::Kind::rule, rule_named(name, begin)});
    }
  }

  void read_group(Sequence& sequence, std::uint32_t rule, std::size_t depth) {
    if (depth == kGrammarDepthMax) {
      return fail_at(at_, fmt::format("more than {} groups are in each other", kGrammarDepthMax));
    }
    const std::size_t begin = at_++;
    skip_space(Lines::all);
    const std::uint32_t group = add_rule(gbnf_.rules[rule].begin);
    read_alternatives(group, depth + 1);
    if (failed()) return;
    if (!take(")")) return fail_at(begin, "this \"(\" has no \")\"");
    push(sequence, {Element::Kind::rule, group});
  }

  void read_literal(Sequence& sequence) {
    const std::size_t begin = at_++;
    while (!failed() && peek() != '"') {
      if (at_end()) return fail_at(begin, "this literal has no end");
      const std::size_t at = at_;
      const char32_t character = read_character();
      auto set = normal({{character, character}}, false);
      if (set.empty()) return fail_at(at, "this is no character");
      push(sequence, {Element::Kind::chars, add_set(std::move(set))});
    }
    ++at_;
  }

  void read_set(Sequence& sequence) {
    const std::size_t begin = at_++;
    const bool inverse = take("^");
    std::vector<CharRange> ranges;
    while (!failed() && peek() != ']') {
      if (at_end()) return fail_at(begin, "this \"[\" has no \"]\"");
      const char32_t first = read_character();
      char32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        last = read_character();
      }
      ranges.push_back({first, last});
    }
    ++at_;
    auto set = normal(std::move(ranges), inverse);
    if (set.empty()) return fail_at(begin, "no character is in this set");
    push(sequence, {Element::Kind::chars, add_set(std::move(set))});
  }

  char32_t read_character() {
    if (at_end()) return fail_at(at_, "the grammar ends here"), 0;
    if (!take("\\")) return read_utf8();
    const std::size_t begin = at_ - 1;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'x':
        return read_hex(begin, 2);
      case 'u':
        return read_hex(begin, 4);
      case 'U':
        return read_hex(begin, 8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return static_cast<char32_t>(c);
      default:
        return fail_at(begin, "this escape is unknown"), 0;
    }
  }

  char32_t read_hex(std::size_t begin, int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const auto digit = hex_value(peek());
      if (!digit) return fail_at(begin, fmt::format("{} hex digits must follow", digits)), 0;
      value = value << 4U | *digit;
      ++at_;
    }
    return value;
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

  void read_repetition(Sequence& sequence, std::size_t symbol, Lines lines) {
    const std::size_t begin = at_;
    std::uint32_t min = 0;
    std::optional<std::uint32_t> max;
    if (take("+")) {
      min = 1;
    } else if (take("?")) {
      max = 1;
    } else if (!take("*")) {
      ++at_;
      skip_space(lines);
      min = read_count();
      skip_space(lines);
      max = min;
      if (take(",")) {
        skip_space(lines);
        max.reset();
        if (is_digit(peek())) max = read_count();
        skip_space(lines);
      }
      if (!take("}")) return fail_at(at_, "\"}\" is missing");
    }
    if (symbol == sequence.size()) return fail_at(begin, "there is nothing to repeat");
    if (max && *max < min) {
      return fail_at(begin, fmt::format("it cannot come {} to {} times", min, *max));
    }
    repeat(sequence, symbol, min, max);
  }

  std::uint32_t read_count() {
    const std::size_t begin = at_;
    std::uint32_t count = 0;
    while (is_digit(peek()) && count <= kGrammarRepeatsMax) {
      count = count * 10 + static_cast<std::uint32_t>(peek() - '0');
      ++at_;
    }
    if (at_ == begin) fail_at(at_, "a number is missing");
    if (count > kGrammarRepeatsMax) {
      fail_at(begin, fmt::format("it repeats more than {} times", kGrammarRepeatsMax));
    }
    return count;
  }

  // S{m,n} becomes m times S, then a rule that is S and the next such rule, or nothing; S{m,}
  // ends with one that is S and itself, or nothing.
  void repeat(Sequence& sequence, std::size_t symbol, std::uint32_t min,
              std::optional<std::uint32_t> max) {
    Sequence repeated(sequence.begin() + static_cast<std::ptrdiff_t>(symbol), sequence.end());
    sequence.resize(symbol);
    elements_ -= repeated.size();  // Counted anew, wherever they come to stand.
    const Element one = repeated.size() == 1 ? repeated.front() : as_rule({std::move(repeated)});
    for (std::uint32_t i = 0; i < min && !failed(); ++i) push(sequence, one);
    std::optional<Element> rest;
    if (!max) {
      const auto self = static_cast<std::uint32_t>(gbnf_.rules.size());
      rest = as_rule({{one, {Element::Kind::rule, self}}, {}});
    }
    for (std::uint32_t i = min; max && i < *max && !failed(); ++i) {
      rest = as_rule({rest ? Sequence{one, *rest} : Sequence{one}, {}});
    }
    if (rest) push(sequence, *rest);
  }

  Element as_rule(std::vector<Sequence> alternatives) {
    for (const Sequence& each : alternatives) count(each.size() + 1);
    const std::uint32_t rule = add_rule(at_);
    gbnf_.rules[rule].alternatives = std::move(alternatives);
    return {Element::Kind::rule, rule};
  }

  void check_names() {
    for (const auto& [name, each] : names_) {
      if (!each.defined) return fail_at(each.used, "there is no such rule");
    }
    const auto root = names_.find("root");
    if (root == names_.end()) return fail_at(0, "there is no rule named \"root\"");
    gbnf_.root = root->second.rule;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
  Gbnf gbnf_;
  std::map<std::string_view, Name> names_;
  std::map<std::vector<CharRange>, std::uint32_t> sets_;
  std::optional<Error> error_;
};

}  // namespace

std::unexpected<Error> gbnf_error(std::string_view text, std::size_t at, std::string_view what) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
  return fail(Errc::invalid, fmt::format("line {}, byte {}: {}", line, column, what));
}

Result<Gbnf> parse_gbnf(std::string_view text) {
  return Parser{text}.parse();
}

}  // namespace seedance::text
