#include "llama/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include "base/random.h"

namespace seedance::llama {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t index(TokenId token) {
  return static_cast<std::size_t>(token.value);
}

}  // namespace

Sampler::Sampler(engine::Sampling parameters, std::size_t prompt_tokens,
                 std::span<const TokenId> end_tokens)
    : parameters_(std::move(parameters)),
      prompt_tokens_(prompt_tokens),
      end_tokens_(end_tokens),
      counted_(prompt_tokens) {}

void Sampler::go_on_behind_cut(std::size_t dropped, std::span<const TokenId> committed,
                               std::size_t tokens) {
  dropped_ = dropped;
  counted_ = 0;
  count(committed);
  counted_ = tokens;
}

Result<Sampler::Choice> Sampler::choose(std::span<float> logits, std::span<const TokenId> tokens) {
  adjust(logits, tokens);
  const auto token = draw(logits, tokens.size() + dropped_ - prompt_tokens_);
  for (const auto& [changed, logit] : std::views::reverse(unchanged_)) {
    logits[index(changed)] = logit;
  }
  if (!token) return fail(Errc::corrupt, "the model gave no finite logit");
  Choice choice{.token = *token};
  if (parameters_.logprobs) choice.logprobs = logprobs(logits, *token);
  return choice;
}

void Sampler::adjust(std::span<float> logits, std::span<const TokenId> tokens) {
  unchanged_.clear();
  for (const auto& [token, bias] : parameters_.logit_bias) {
    change(logits, token, logits[index(token)] + bias);
  }
  if (parameters_.ignore_eos) {
    for (const TokenId token : end_tokens_) change(logits, token, -kInfinity);
  }
  penalise_repeats(logits, tokens);
  if (parameters_.presence_penalty == 0 && parameters_.frequency_penalty == 0) return;
  count(tokens);
  for (const auto& [token, count] : counts_) {
    const float penalty =
        parameters_.presence_penalty + parameters_.frequency_penalty * static_cast<float>(count);
    change(logits, token, logits[index(token)] - penalty);
  }
}

void Sampler::penalise_repeats(std::span<float> logits, std::span<const TokenId> tokens) {
  const float penalty = parameters_.repeat_penalty;
  if (penalty == 1 || parameters_.repeat_last_n == 0) return;
  if (parameters_.repeat_last_n > 0) {
    const auto last_n = static_cast<std::size_t>(parameters_.repeat_last_n);
    tokens = tokens.last(std::min(last_n, tokens.size()));
  }
  recent_.assign(tokens.begin(), tokens.end());
  std::ranges::sort(recent_);
  const auto repeated = std::ranges::unique(recent_);
  recent_.erase(repeated.begin(), repeated.end());
  for (const TokenId token : recent_) {
    const float logit = logits[index(token)];
    change(logits, token, logit > 0 ? logit / penalty : logit * penalty);
  }
}

void Sampler::change(std::span<float> logits, TokenId token, float logit) {
  unchanged_.emplace_back(token, logits[index(token)]);
  logits[index(token)] = logit;
}

void Sampler::count(std::span<const TokenId> tokens) {
  for (; counted_ < tokens.size(); ++counted_) {
    const TokenId token = tokens[counted_];
    const auto at =
        std::ranges::lower_bound(counts_, token, {}, &decltype(counts_)::value_type::first);
    if (at != counts_.end() && at->first == token) {
      ++at->second;
    } else {
      counts_.emplace(at, token, 1);
    }
  }
}

std::optional<TokenId> Sampler::draw(std::span<const float> logits, std::uint64_t offset) {
  const auto best_id = best_token(logits);
  if (!best_id) return std::nullopt;
  if (parameters_.temperature <= 0 || parameters_.top_k == 1) return TokenId{*best_id};

  const float best = logits[static_cast<std::size_t>(*best_id)];
  const float scale = 1 / parameters_.temperature;
  const double uniform = counter_uniform(parameters_.seed, offset);
  const float floor = parameters_.min_p > 0 ? best + std::log(parameters_.min_p) : -kInfinity;
  const auto top_k = static_cast<std::size_t>(std::max(parameters_.top_k, 0));
  candidates_.clear();
  if (top_k > 0 && top_k < logits.size()) {
    gather_best(logits, top_k, candidates_);
    if (parameters_.top_p < 1) {
      weigh(best, 1);
      const double share = static_cast<double>(parameters_.top_p);
      candidates_.resize(prefix_weighing(candidates_, share * weight()));
    }
  } else if (parameters_.top_p < 1) {
    gather_likeliest(logits, best, 1, static_cast<double>(parameters_.top_p));
  } else if (parameters_.min_p > 0) {
    gather(logits, floor, kInfinity, candidates_);
  } else {  // No filter: the draw needs those before it, and only them.
    gather_likeliest(logits, best, scale, uniform);
    return TokenId{candidates_.back().token};
  }
  std::erase_if(candidates_, [&](const WeighedToken& each) { return each.logit < floor; });
  weigh(best, scale);
  const std::size_t count = prefix_weighing(candidates_, uniform * weight());
  return TokenId{candidates_[count - 1].token};
}

// Makes candidates_ the first that have at least `share` of the whole weight,
// the last of them at the end. Looks for them in bands from the top, since most
// of the weight is mostly in few tokens.
void Sampler::gather_likeliest(std::span<const float> logits, float best, float scale,
                               double share) {
  constexpr std::array<float, 6> kBands{1, 3, 6, 12, 24, 87};  // Below e^-87 there is nothing.
  const double target = share * total_weight(logits, best, scale);
  double before = 0;
  float ceiling = kInfinity;
  for (const float band : kBands) {
    const std::size_t begin = candidates_.size();
    const float floor = best - band / scale;
    gather(logits, floor, ceiling, candidates_);
    ceiling = floor;
    const auto inside = std::span{candidates_}.subspan(begin);
    double here = 0;
    for (WeighedToken& each : inside) {
      each.weight = exp_weight((each.logit - best) * scale);
      here += static_cast<double>(each.weight);
    }
    if (!inside.empty() && (before + here >= target || band == kBands.back())) {
      candidates_.resize(begin + prefix_weighing(inside, target - before));
      return;
    }
    before += here;
  }
  std::ranges::iter_swap(std::ranges::max_element(candidates_, comes_before),
                         candidates_.end() - 1);
}

void Sampler::weigh(float best, float scale) {
  for (WeighedToken& each : candidates_) each.weight = exp_weight((each.logit - best) * scale);
}

double Sampler::weight() const {
  double sum = 0;
  for (const WeighedToken& each : candidates_) sum += static_cast<double>(each.weight);
  return sum;
}

stream::TokenLogprobs Sampler::logprobs(std::span<const float> logits, TokenId chosen) {
  const auto best = logits[static_cast<std::size_t>(*best_token(logits))];
  const auto total = best + static_cast<float>(std::log(total_weight(logits, best, 1)));
  stream::TokenLogprobs result{.chosen = logits[index(chosen)] - total, .top = {}};
  if (parameters_.top_logprobs == 0) return result;
  gather_best(logits, parameters_.top_logprobs, candidates_);
  std::ranges::sort(candidates_, comes_before);
  for (const WeighedToken& each : candidates_) {
    result.top.push_back({.token = {each.token}, .logprob = each.logit - total});
  }
  return result;
}

}  // namespace seedance::llama
