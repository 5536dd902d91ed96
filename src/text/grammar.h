// A grammar: which texts an answer may be.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace seedance::text {

inline constexpr std::size_t kGrammarElementsMax = 64U << 10;  // With the ends of alternatives.
inline constexpr std::size_t kGrammarDepthMax = 64;            // Of groups in groups.
inline constexpr std::uint32_t kGrammarRepeatsMax = 2000;      // Counted ones, of one symbol.

// Code points, both ends included.
struct CharRange {
  char32_t first = 0;
  char32_t last = 0;

  friend auto operator<=>(const CharRange&, const CharRange&) = default;
};

// One element of a rule's alternative.
struct GrammarElement {
  enum class Kind : std::uint8_t {
    end,    // Of the alternative.
    chars,  // One character of the set `index`.
    rule,   // What the rule `index` allows.
  };
  Kind kind = Kind::end;
  std::uint32_t index = 0;

  friend bool operator==(const GrammarElement&, const GrammarElement&) = default;
};

// The rules of a GBNF text, the notation of llama.cpp, read and checked. A value.
//
// It is read here and not by llama.cpp, whose reader overruns the stack on deep
// groups and takes memory without end for {5,2}, and whose matching takes time
// exponential in a token's length. The differences: what names a token
// (<[7]>, <think>) is refused, as are rules that are defined twice, and counts
// above kGrammarRepeatsMax, which llama.cpp takes for "any number".
class Grammar {
 public:
  using Element = GrammarElement;

  // Invalid with one sentence that gives line and column, and quotes nothing. Takes time and
  // memory in proportion to the text and kGrammarElementsMax.
  static Result<Grammar> parse(std::string_view gbnf);

  const Element& element(std::uint32_t position) const { return elements_[position]; }
  // Where they begin.
  std::span<const std::uint32_t> alternatives(std::uint32_t rule) const;
  std::uint32_t root() const { return root_; }

  bool allows(std::uint32_t set, char32_t character) const;
  // Some character from `first` to `last`.
  bool allows_some(std::uint32_t set, char32_t first, char32_t last) const;

  std::size_t bytes() const;  // Of memory that it takes.

  // Characters that no rule tells apart have one class.
  std::uint32_t class_of(char32_t character) const;

 private:
  std::span<const CharRange> set(std::uint32_t index) const;
  void find_classes();

  std::uint32_t root_ = 0;
  std::vector<Element> elements_;
  std::vector<std::uint32_t> starts_;     // Of alternatives, those of a rule together.
  std::vector<std::uint32_t> rule_ends_;  // In starts_, by rule.
  std::vector<CharRange> ranges_;         // Of all sets, ascending in each.
  std::vector<std::uint32_t> set_ends_;   // In ranges_, by set.
  std::vector<char32_t> class_begins_;    // But the first.
};

}  // namespace seedance::text
