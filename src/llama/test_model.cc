#include "llama/test_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/random.h"

namespace seedance::llama {

std::string test_model_path() {
  return SEEDANCE_TEST_MODEL;
}

std::string test_draft_path() {
  return SEEDANCE_TEST_DRAFT;
}

std::string test_adapter_path(std::uint32_t number) {
  return fmt::format("{}-{}.gguf", SEEDANCE_TEST_ADAPTERS, number);
}

std::string recurrent_model_path() {
  return SEEDANCE_RECURRENT_MODEL;
}

std::vector<TokenId> random_prompt(std::uint64_t seed, std::size_t size) {
  Prng random{seed};
  std::vector<TokenId> prompt;
  prompt.reserve(size);
  for (std::size_t at = 0; at < size; ++at) {
    prompt.push_back({static_cast<std::int32_t>(300 + random.below(3000))});
  }
  return prompt;
}

engine::Job greedy_job(std::uint64_t id, std::vector<TokenId> prompt, std::uint32_t tokens_max) {
  return {.id = {id},
          .gen = {1},
          .prompt = std::move(prompt),
          .tokens_max = tokens_max,
          .sampling = {.temperature = 0, .ignore_eos = true}};
}

LoneModel::LoneModel(const std::string& path, std::vector<std::string> adapters) {
  const WorkerOptions options{
      .model_path = path, .sequences_max = 1, .threads = 1, .adapters = std::move(adapters)};
  auto model = Model::load(options, log_, [](float) {});
  SEEDANCE_CHECK(model.has_value(), "the test model loads");
  model_ = *std::move(model);
}

float LoneModel::regret(std::span<const TokenId> prompt, std::span<const TokenId> output,
                        std::uint32_t adapter) {
  std::vector<TokenId> tokens{prompt.begin(), prompt.end()};
  tokens.insert(tokens.end(), output.begin(), output.end());
  model_->clear(0);
  model_->use_adapter(adapter);
  float worst = 0;
  for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
    llama_token token = tokens[at].value;
    const int status = llama_decode(model_->context(), llama_batch_get_one(&token, 1));
    SEEDANCE_CHECK(status == 0, "a lone token can be computed");
    if (at + 1 < prompt.size()) continue;
    float* logits = llama_get_logits_ith(model_->context(), -1);
    for (const TokenId end : model_->end_tokens()) {
      logits[end.value] = -std::numeric_limits<float>::infinity();
    }
    const float best = *std::max_element(logits, logits + model_->vocabulary_size());
    worst = std::max(worst, best - logits[tokens[at + 1].value]);
  }
  return worst;
}

}  // namespace seedance::llama
