// What of JSON Schema is kept to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::llama {

inline constexpr std::size_t kSchemaDepthMax = 64;    // Of values in values.
inline constexpr std::size_t kSchemaPartsMax = 256;   // That one "allOf" puts together.
inline constexpr std::size_t kSchemaCountMax = 2000;  // As text::kGrammarRepeatsMax.
inline constexpr std::int64_t kSchemaDigitsMax = 16;  // Of an integer, as the converter has it.

// The same schema in those words of JSON Schema that llama.cpp's converter keeps to.
//
// The converter keeps to some keywords only alone, takes references with similar names for one,
// and leaves out without a word what it does not know: then an answer need not be what was asked
// for. So nothing reaches it but what is understood here. What can be written in its words is:
// bounds as two inclusive ones, "allOf" of objects as one object, references by numbers, patterns
// by json_pattern(). What says nothing about an answer (titles, defaults, keywords that are not
// JSON Schema's) is left out. An answer that the result allows is one that `schema` allows, but for
// "oneOf", which is "anyOf", and dates that are on no calendar.
//
// Invalid for everything else, with a phrase that names place and keyword, and says what to do.
// Pure; visits each place once for each reference around it, by recursion no deeper than the JSON.
Result<std::string> plain_schema(std::string_view schema);

}  // namespace seedance::llama
