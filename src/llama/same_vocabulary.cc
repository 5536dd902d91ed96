#include "llama/same_vocabulary.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace seedance::llama {

std::optional<std::string> vocabulary_difference(const llama_vocab* own, const llama_vocab* other) {
  if (llama_vocab_type(own) != llama_vocab_type(other)) {
    return fmt::format("is of another kind ({}, the model's is {})",
                       static_cast<int>(llama_vocab_type(other)),
                       static_cast<int>(llama_vocab_type(own)));
  }
  if (llama_vocab_type(own) == LLAMA_VOCAB_TYPE_NONE) return "has no texts to compare";
  const std::int32_t tokens = llama_vocab_n_tokens(own);
  if (llama_vocab_n_tokens(other) != tokens) {
    return fmt::format("has {} tokens, the model's has {}", llama_vocab_n_tokens(other), tokens);
  }
  for (llama_token token = 0; token < tokens; ++token) {
    const std::string_view text = llama_vocab_get_text(own, token);
    const std::string_view differs = llama_vocab_get_text(other, token);
    if (differs != text) {
      return fmt::format("has '{}' as token {}, the model's has '{}'", differs, token, text);
    }
    const auto kind = static_cast<unsigned>(llama_vocab_get_attr(own, token));
    const auto other_kind = static_cast<unsigned>(llama_vocab_get_attr(other, token));
    if (other_kind != kind) {
      return fmt::format("has token {} ('{}') with the attributes {:#x}, the model's with {:#x}",
                         token, text, other_kind, kind);
    }
    if (llama_vocab_is_eog(other, token) != llama_vocab_is_eog(own, token)) {
      return fmt::format("{} with token {} ('{}'), the model's {}",
                         llama_vocab_is_eog(other, token) ? "ends an answer" : "ends no answer",
                         token, text, llama_vocab_is_eog(own, token) ? "does" : "does not");
    }
  }
  return std::nullopt;
}

}  // namespace seedance::llama
