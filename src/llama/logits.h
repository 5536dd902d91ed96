// Passes over the logits of one token: each reads them once, in vector registers.
//
// A logit that is not a number, or minus infinity, is no candidate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace seedance::llama {

struct WeighedToken {
  std::int32_t token = 0;
  float logit = 0;
  float weight = 0;  // exp((logit - best) * scale), as exp_weight() has it.
};

// The order of candidates: higher logit first, then lower id.
inline bool comes_before(const WeighedToken& a, const WeighedToken& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The highest logit, of equal ones the first. Nothing when there is no candidate.
std::optional<std::int32_t> best_token(std::span<const float> logits);

// e to the power of x, for x <= 0; within 2e-7 of it, and less than 2e-38 below -87.
float exp_weight(float x);

// The sum of exp_weight((logit - best) * scale) over all candidates.
double total_weight(std::span<const float> logits, float best, float scale);

// Appends the candidates with floor <= logit < ceiling, by id, without weights.
void gather(std::span<const float> logits, float floor, float ceiling,
            std::vector<WeighedToken>& out);

// Replaces `out` by the first `count` candidates, or all if fewer, in no order
// and without weights.
void gather_best(std::span<const float> logits, std::size_t count, std::vector<WeighedToken>& out);

// Puts the first candidates, as few as together weigh at least `target`, to the
// front, the last of them at its end, and returns how many they are: at least 1,
// all if they never reach it. `candidates` must not be empty.
std::size_t prefix_weighing(std::span<WeighedToken> candidates, double target);

}  // namespace seedance::llama
