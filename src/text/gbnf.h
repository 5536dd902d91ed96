// GBNF, the notation of llama.cpp for grammars. Private to Grammar.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar.h"

namespace seedance::text {

struct GbnfRule {
  std::vector<std::vector<GrammarElement>> alternatives = {};  // Without `end`.
  std::size_t begin = 0;                                       // Where it is in the text.
};

// The rules as they are written, repetitions and groups as rules of their own. Every
// reference is to a rule that is there.
struct Gbnf {
  std::vector<GbnfRule> rules;
  std::vector<std::vector<CharRange>> sets;  // Ascending, disjoint, not empty.
  std::uint32_t root = 0;
};

// Invalid with a sentence, as Grammar::parse().
Result<Gbnf> parse_gbnf(std::string_view text);

// The error at a place of the text.
std::unexpected<Error> gbnf_error(std::string_view text, std::size_t at, std::string_view what);

}  // namespace seedance::text
