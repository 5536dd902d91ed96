// Whether two models mean the same by a token: its text, its attributes, whether it ends an answer.
#pragma once

#include <llama.h>

#include <optional>
#include <string>

namespace seedance::llama {

// How the vocabulary of `other` differs from `own`, as the end of a sentence about it; nothing
// where it does not.
std::optional<std::string> vocabulary_difference(const llama_vocab* own, const llama_vocab* other);

}  // namespace seedance::llama
