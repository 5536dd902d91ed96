// Chooses the next token of one sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "engine/job.h"
#include "llama/logits.h"
#include "stream/record.h"
#include "text/token_constraint.h"

namespace seedance::llama {

// Draws tokens as the parameters of one job say, in this order:
//
//  1. logit_bias is added; with ignore_eos end tokens are out;
//  2. repeat_penalty, for tokens among the last repeat_last_n (-1: all) of the
//     sequence: a positive logit is divided by it, another multiplied (Keskar et
//     al., CTRL, 2019); then, for tokens generated before, n times:
//     frequency_penalty * n and presence_penalty are subtracted, as OpenAI has it;
//  3. temperature 0 or top_k 1: the highest logit, of equal ones the lowest id;
//  4. top_k: that many first candidates; top_p: of these, the first whose share of
//     their weight reaches it; min_p: of these, those at least so likely as min_p
//     times the first; temperature: logits are divided by it (the order of
//     llama.cpp, so temperature does not change what top_p and min_p keep);
//  5. the draw: the first candidate at which the weight so far reaches
//     counter_uniform(seed, offset) of the whole, candidates in descending order
//     of logit, then by id.
//
// With a constraint, tokens that it does not allow are no candidates, from step 3 on: the
// result is that of masking them all first. To ask for all of a large vocabulary takes longer
// than some models compute, so only the likeliest are asked for as long as that decides: greedily
// the first that is allowed is the result; for a draw, the weight of those not asked for is
// unknown but has bounds, and where both bounds give the same token it is the one. Else all are
// asked for, once for each place in the grammar. Logprobs are the model's own.
//
// Every step is a function of the logits, the parameters and the tokens so far,
// so a job continued elsewhere draws from the same distributions. Keeps what it
// counted between calls: of one sequence, whose tokens are only appended to.
class Sampler {
 public:
  // `end_tokens` outlives this.
  Sampler(engine::Sampling parameters, std::size_t prompt_tokens,
          std::span<const TokenId> end_tokens,
          std::optional<text::TokenConstraint> constraint = std::nullopt);

  struct Choice {
    TokenId token;
    std::optional<stream::TokenLogprobs> logprobs = {};  // When asked for.
  };

  // The sequence lacks `dropped` tokens: `committed` are all that were generated before, and it
  // has `tokens` now. Before the first choice.
  void go_on_behind_cut(std::size_t dropped, std::span<const TokenId> committed,
                        std::size_t tokens);

  // `tokens` are the prompt and what was generated; `logits` are those of the
  // next. They are scratch meanwhile and unchanged in the end. Corrupt when no
  // token has a number for a logit; invalid when the constraint allows none, or takes
  // too much work. A constraint goes on behind the choice.
  Result<Choice> choose(std::span<float> logits, std::span<const TokenId> tokens);

  // Of memory, about, that the constraint takes, with what is masked for it.
  std::size_t constraint_bytes() const {
    return constraint_ ? constraint_->bytes() + (masked_.capacity() * sizeof(float)) : 0;
  }

 private:
  void count(std::span<const TokenId> tokens);
  void adjust(std::span<float> logits, std::span<const TokenId> tokens);
  void penalise_repeats(std::span<float> logits, std::span<const TokenId> tokens);
  void change(std::span<float> logits, TokenId token, float logit);
  std::optional<TokenId> draw(std::span<const float> logits, std::uint64_t offset);
  std::optional<TokenId> draw_allowed(std::span<float> logits, std::uint64_t offset);
  std::optional<TokenId> draw_likeliest(std::span<const float> logits, std::uint64_t offset);
  bool find_candidates(float floor, double uniform, double unseen, bool all);
  TokenId draw_candidate(float best, float floor, double uniform);
  void gather_likeliest(std::span<const float> logits, float best, float scale, double share);
  void weigh(float best, float scale);
  double weight() const;
  stream::TokenLogprobs logprobs(std::span<const float> logits, TokenId chosen);

  engine::Sampling parameters_;
  std::size_t prompt_tokens_;
  std::size_t dropped_ = 0;
  std::span<const TokenId> end_tokens_;
  std::size_t counted_;                                    // Tokens that are in counts_.
  std::vector<std::pair<TokenId, std::uint32_t>> counts_;  // Of generated tokens, by id.
  std::vector<std::pair<TokenId, float>> unchanged_;       // Logits before adjust().
  std::vector<TokenId> recent_;                            // Scratch.
  std::vector<WeighedToken> candidates_;                   // Scratch.
  std::optional<text::TokenConstraint> constraint_;
  std::vector<float> masked_;  // Scratch.
};

}  // namespace seedance::llama
