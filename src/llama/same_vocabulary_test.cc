#include "llama/same_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "llama/log_capture.h"
#include "llama/test_file.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using testing::HasSubstr;
using Loaded = std::unique_ptr<llama_model, decltype(&llama_model_free)>;

Loaded vocabulary(const std::string& path) {
  const LogCapture quiet;
  llama_model_params parameters = llama_model_default_params();
  parameters.vocab_only = true;
  return {llama_model_load_from_file(path.c_str(), parameters), llama_model_free};
}

std::optional<std::string> difference(const std::string& path) {
  const Loaded own = vocabulary(test_model_path());
  const Loaded other = vocabulary(path);
  return vocabulary_difference(llama_model_get_vocab(own.get()),
                               llama_model_get_vocab(other.get()));
}

TEST(SameVocabulary, IsThatOfAModelWithOtherWeights) {
  EXPECT_EQ(difference(test_draft_path()), std::nullopt);
}

TEST(SameVocabulary, IsOfTheSameKindAndSize) {
  EXPECT_EQ(difference(SEEDANCE_VOCABULARIES "/ggml-vocab-llama-spm.gguf"),
            "has 32000 tokens, the model's has 4096");
  EXPECT_THAT(difference(SEEDANCE_VOCABULARIES "/ggml-vocab-llama-bpe.gguf").value_or(""),
              HasSubstr("is of another kind"));
}

TEST(SameVocabulary, HasTheSameTexts) {
  std::string content = content_of(test_draft_path());
  const std::size_t at = content.find("<0x41>");
  ASSERT_NE(at, std::string::npos);
  content.replace(at, 6, "<0x4a>");
  const TestFile changed{"changed.gguf", content};
  EXPECT_EQ(difference(changed.path()), "has '<0x4a>' as token 68, the model's has '<0x41>'");
}

// Token 300 of the draft is no plain text.
TEST(SameVocabulary, HasTheSameAttributes) {
  std::string content = content_of(test_draft_path());
  const std::string_view key = "tokenizer.ggml.token_type";
  constexpr std::size_t kArrayHead = 4 + 4 + 8;  // That it is one, of what, how many.
  const std::size_t at = content.find(key);
  ASSERT_NE(at, std::string::npos);
  char& type = content.at(at + key.size() + kArrayHead + (300 * sizeof(std::int32_t)));
  ASSERT_EQ(type, LLAMA_TOKEN_TYPE_NORMAL);
  type = LLAMA_TOKEN_TYPE_USER_DEFINED;
  const TestFile changed{"changed.gguf", content};
  EXPECT_THAT(difference(changed.path()).value_or(""),
              testing::ContainsRegex("has token 300 .* with the attributes 0x10, the model's with "
                                     "0x4"));
}

TEST(SameVocabulary, EndsWithTheSameTokens) {
  std::string content = content_of(test_draft_path());
  const std::string_view key = "tokenizer.ggml.eos_token_id";
  const std::size_t at = content.find(key);
  ASSERT_NE(at, std::string::npos);
  content.at(at + key.size() + 4) = 100;  // Behind its type.
  const TestFile changed{"changed.gguf", content};
  EXPECT_THAT(
      difference(changed.path()).value_or(""),
      testing::ContainsRegex("^ends (an answer with token 100 .* does not|no answer .* does)$"));
}

}  // namespace
}  // namespace seedance::llama
