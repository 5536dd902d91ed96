// The model that tests run, and what it says about a text by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/job.h"
#include "llama/model.h"

namespace seedance::llama {

// A random-weight model of bench/make_model.py, made by the build.
std::string test_model_path();

// Likewise of other weights and the same vocabulary.
std::string test_draft_path();

// LoRA adapters for it, numbered from 1.
std::string test_adapter_path(std::uint32_t number);

// Another one, whose memory cannot be cut.
std::string recurrent_model_path();

// How far below the best logit a chosen token's may be. Kernels round differently
// for different shapes of a batch, by less than a hundredth here; the logits of
// the model spread over tens.
inline constexpr float kEpsilon = 0.05F;
// Where all share their room: a sequence that is taken out is computed anew in other pieces, and
// sums run over the cells of others; 0.06 was seen.
inline constexpr float kSharedEpsilon = 4 * kEpsilon;

// Some tokens, other ones for each seed.
std::vector<TokenId> random_prompt(std::uint64_t seed, std::size_t size);

// A greedy job that never ends by itself.
engine::Job greedy_job(std::uint64_t id, std::vector<TokenId> prompt, std::uint32_t tokens_max);

// Computes one sequence alone, token by token.
class LoneModel {
 public:
  explicit LoneModel(const std::string& path = test_model_path(),
                     std::vector<std::string> adapters = {});

  // How far the logit of each output token is below the best one that is no end
  // token, at worst.
  float regret(std::span<const TokenId> prompt, std::span<const TokenId> output,
               std::uint32_t adapter = 0);

 private:
  LogCapture log_;
  std::unique_ptr<Model> model_;
};

}  // namespace seedance::llama
