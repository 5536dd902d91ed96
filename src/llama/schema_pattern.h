// The `pattern` of a JSON schema.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::llama {

inline constexpr std::size_t kPatternDepthMax = 32;         // Of groups in groups.
inline constexpr std::size_t kPatternRepeatsMax = 2000;     // Counted ones.
inline constexpr std::size_t kPatternBytesMax = 256 << 10;  // Of what comes out.

// The same pattern over the text of a JSON string between its quotes, as llama.cpp's converter
// reads one without a mistake: each character a set of its own, and what JSON escapes escaped.
// Of a set with such characters only those stay that have an escape of one letter.
//
// Takes what regular expressions of ECMA-262 have in common with grammars: literals, sets, ".",
// \d \w \s and their opposites, groups, alternatives and repetitions, from ^ to $. Invalid with
// what else there is, as a phrase whose subject is the pattern.
Result<std::string> json_pattern(std::string_view pattern);

}  // namespace seedance::llama
