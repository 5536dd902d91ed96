// The grammar of an answer, from what the client says that it must be.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "base/error_code.h"
#include "text/tokenizer.h"

namespace seedance::llama {

inline constexpr std::size_t kGrammarBytesMax = 1U << 20;  // Of one made from a schema.

// Of a process that makes one.
struct SchemaLimits {
  std::chrono::milliseconds cpu{200};
  std::uint64_t bytes = std::uint64_t{256} << 20;  // Of memory, beside what its parent has.
};

// GBNF that text::Grammar takes, empty for any answer, or why there is none.
//
// A schema is turned into a grammar by llama.cpp, in a process that this one forks: for some
// schemas that takes hours, or overruns the stack. This process must have no other thread that
// matters.
std::variant<std::string, Problem> answer_grammar(const text::AnswerFormat& format,
                                                  const SchemaLimits& limits = {});

}  // namespace seedance::llama
