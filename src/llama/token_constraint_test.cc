// The constraint of text/ against llama.cpp's own sampler, on real vocabularies.
#include "text/token_constraint.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/unicode.h"
#include "llama/answer_grammar.h"
#include "llama/log_capture.h"
#include "llama/pieces.h"

namespace seedance::llama {
namespace {

constexpr const char* kObject = R"({"type":"object","required":["name","size"],
  "properties":{"name":{"type":"string"},"size":{"type":"number"},
  "kind":{"enum":["big","b\u00e9","\u4e2d\u6587"]},"list":{"type":"array","maxItems":3}}})";

std::string grammar_of(const std::string& text) {
  if (!text.starts_with('{')) return text;
  return std::get<std::string>(
      answer_grammar({text::AnswerFormat::Kind::json_schema, text, "json_schema"}));
}

class AgainstLlamaCpp : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    llama_model_params parameters = llama_model_default_params();
    parameters.vocab_only = true;
    const std::string path =
        std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-" + std::get<0>(GetParam()) + ".gguf";
    model_.reset(llama_model_load_from_file(path.c_str(), parameters));
    ASSERT_NE(model_, nullptr);
    vocabulary_ = llama_model_get_vocab(model_.get());
  }

  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
  };

  LogCapture log_;
  std::unique_ptr<llama_model, Free> model_;
  const llama_vocab* vocabulary_ = nullptr;
};

// It allows all that we do, and what it allows besides shows nothing or is no text.
TEST_P(AgainstLlamaCpp, AllowsTheSameTokens) {
  const std::string gbnf = grammar_of(std::get<1>(GetParam()));
  const text::PieceOrder order{read_pieces(vocabulary_)};
  const text::PieceTable& pieces = order.pieces();
  Prng random{7};
  for (int run = 0; run < 3; ++run) {
    const std::unique_ptr<llama_sampler, Free> theirs{
        llama_sampler_init_grammar(vocabulary_, gbnf.c_str(), "root")};
    ASSERT_NE(theirs, nullptr);
    text::TokenConstraint ours{*text::Grammar::parse(gbnf), order};
    Utf8Validator valid;
    for (int step = 0; step < 25; ++step) {
      std::vector<llama_token_data> candidates;
      for (int id = 0; std::cmp_less(id, pieces.size()); ++id) candidates.push_back({id, 0, 0});
      llama_token_data_array array{candidates.data(), candidates.size(), -1, false};
      llama_sampler_apply(theirs.get(), &array);
      const text::TokenSet& allowed = ours.allowed();
      std::vector<TokenId> choices;
      for (const llama_token_data& each : candidates) {
        const TokenId token{each.id};
        const bool may = allowed.contains(token);
        ASSERT_LE(may, each.logit == 0) << "only ours, token " << each.id;
        Utf8Validator after = valid;
        if (!may && each.logit == 0 && pieces.kind(token) != text::PieceKind::control) {
          const bool whole = after.feed(pieces.visible(token)) && after.complete();
          ASSERT_FALSE(whole) << "only theirs, token " << each.id;
        }
        if (may && pieces.kind(token) == text::PieceKind::text) choices.push_back(token);
      }
      if (choices.empty()) break;
      const TokenId token = choices[random.below(choices.size())];
      ASSERT_TRUE(ours.accept(token));
      ASSERT_TRUE(valid.feed(pieces.visible(token)));
      llama_sampler_accept(theirs.get(), token.value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, AgainstLlamaCpp,
    testing::Combine(testing::Values("llama-spm", "gpt-2"),
                     testing::Values(kObject, "root ::= ([^a-z\\n]{3,9} | \"\u00e9\" .)+",
                                     "root ::= item+\nitem ::= \"- \" [^\\r\\n\\x0b\\x0c]+ \"\\n\"",
                                     "root ::= [\u4e00-\u9fff]+ (\"!\" | \"?\")?")));

}  // namespace
}  // namespace seedance::llama
