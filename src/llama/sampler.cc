#include "llama/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "base/random.h"

namespace seedance::llama {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t index(TokenId token) {
  return static_cast<std::size_t>(token.value);
}

}  // namespace

Sampler::Sampler(engine::Sampling parameters, std::size_t prompt_tokens,
                 std::span<const TokenId> end_tokens,
                 std::optional<text::TokenConstraint> constraint)
    : parameters_(std::move(parameters)),
      prompt_tokens_(prompt_tokens),
      end_tokens_(end_tokens),
      counted_(prompt_tokens),
      constraint_(std::move(constraint)) {}

void Sampler::go_on_behind_cut(std::size_t dropped, std::span<const TokenId> committed,
                               std::size_t tokens) {
  dropped_ = dropped;
  counted_ = 0;
  count(committed);
  counted_ = tokens;
}

Result<Sampler::Choice> Sampler::choose(std::span<float> logits, std::span<const TokenId> tokens) {
  adjust(logits, tokens);
  const std::uint64_t offset = tokens.size() + dropped_ - prompt_tokens_;
  const auto token = constraint_ ? draw_allowed(logits, offset) : draw(logits, offset);
  for (const auto& [changed, logit] : std::views::reverse(unchanged_)) {
    logits[index(changed)] = logit;
  }
  if (constraint_ && constraint_->exhausted()) {
    return fail(Errc::invalid, "the grammar can go on in too many ways");
  }
  if (!token && (!constraint_ || !best_token(logits))) {
    return fail(Errc::corrupt, "the model gave no finite logit");
  }
  if (!token || (constraint_ && !constraint_->accept(*token))) {
    return fail(Errc::invalid, "no token of the model is what the grammar wants next");
  }
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
  return draw_candidate(best, floor, uniform);
}

TokenId Sampler::draw_candidate(float best, float floor, double uniform) {
  std::erase_if(candidates_, [&](const WeighedToken& each) { return each.logit < floor; });
  weigh(best, 1 / parameters_.temperature);
  const std::size_t count = prefix_weighing(candidates_, uniform * weight());
  return TokenId{candidates_[count - 1].token};
}

std::optional<TokenId> Sampler::draw_allowed(std::span<float> logits, std::uint64_t offset) {
  constexpr int kTries = 16;
  const bool greedy = parameters_.temperature <= 0 || parameters_.top_k == 1;
  for (int i = 0; greedy && i < kTries; ++i) {
    const auto best = best_token(logits);
    if (!best || constraint_->allows({*best})) {
      return best ? std::optional{TokenId{*best}} : std::nullopt;
    }
    change(logits, {*best}, -kInfinity);
  }
  if (!greedy) {
    if (const auto token = draw_likeliest(logits, offset)) return token;
  }
  const text::TokenSet& allowed = constraint_->allowed();
  masked_.assign(logits.size(), -kInfinity);
  for (std::int32_t id = 0; std::cmp_less(id, logits.size()); ++id) {
    if (allowed.contains({id})) masked_[index({id})] = logits[index({id})];
  }
  return draw(masked_, offset);
}

// Nothing when those that it looks at do not decide.
std::optional<TokenId> Sampler::draw_likeliest(std::span<const float> logits,
                                               std::uint64_t offset) {
  constexpr std::size_t kLooks = 64;
  constexpr double kRounding = 1e-5;  // More than sums of floats are wrong by.
  gather_best(logits, kLooks, candidates_);
  if (candidates_.empty()) return std::nullopt;
  std::ranges::sort(candidates_, comes_before);
  const bool all = candidates_.size() < kLooks;
  const float best = candidates_.front().logit;
  const float lowest = candidates_.back().logit;
  const float scale = parameters_.top_p < 1 ? 1 : 1 / parameters_.temperature;
  weigh(best, scale);
  const double total = total_weight(logits, best, scale);
  const double unseen = std::max(0.0, total - weight()) + kRounding * total;
  std::erase_if(candidates_,
                [&](const WeighedToken& each) { return !constraint_->allows({each.token}); });
  if (candidates_.empty()) return std::nullopt;
  const float first = candidates_.front().logit;
  const float floor = parameters_.min_p > 0 ? first + std::log(parameters_.min_p) : -kInfinity;
  const double uniform = counter_uniform(parameters_.seed, offset);
  if (!find_candidates(floor, uniform, unseen, all || lowest < floor)) return std::nullopt;
  const bool drawn = parameters_.top_k == 0 && parameters_.top_p == 1 && parameters_.min_p == 0;
  return drawn ? TokenId{candidates_.back().token} : draw_candidate(first, floor, uniform);
}

// Leaves in candidates_, which are the first that are allowed, those between which the draw is,
// or without a filter those up to the one that is drawn. False when they cannot be told:
// others, which weigh at most `unseen`, may belong to them. `all`: those do not matter for min_p.
bool Sampler::find_candidates(float floor, double uniform, double unseen, bool all) {
  const auto keep_share = [&](double share, double others) {
    const auto reach = [&](double target) {
      double sum = 0;
      std::size_t count = 0;
      while (count < candidates_.size() && (count == 0 || sum < target)) {
        sum += static_cast<double>(candidates_[count++].weight);
      }
      return sum >= target ? count : candidates_.size() + 1;
    };
    const double known = weight();
    const std::size_t count = reach(share * known * (1 - 1e-6));
    if (count != reach(share * (known + others))) return false;
    candidates_.resize(count);
    return true;
  };
  const auto top_k = static_cast<std::size_t>(std::max(parameters_.top_k, 0));
  const auto top_p = static_cast<double>(parameters_.top_p);
  if (top_k > 0) {
    if (candidates_.size() < top_k) return false;
    candidates_.resize(top_k);
    return parameters_.top_p == 1 || keep_share(top_p, 0);
  }
  if (parameters_.top_p < 1) return keep_share(top_p, unseen);
  if (floor > -kInfinity) return all;
  return keep_share(uniform, unseen);
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
