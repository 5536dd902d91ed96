#include "llama/logits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace seedance::llama {
namespace {

constexpr std::size_t kLanes = 16;  // Independent, so that the compiler can use vectors.
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The highest of a block; kLowest when it holds no candidate.
float best_of(std::span<const float> block) {
  std::array<float, kLanes> best;
  best.fill(kLowest);
  std::size_t at = 0;
  for (; at + kLanes <= block.size(); at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = block[at + lane];
      best[lane] = logit > best[lane] ? logit : best[lane];
    }
  }
  for (; at < block.size(); ++at) best[0] = block[at] > best[0] ? block[at] : best[0];
  return *std::ranges::max_element(best);
}

// Calls `take` with the index of each logit that is at least `floor`, by id. Few
// are in most uses, so whole blocks are looked at first.
template <typename Take>
void for_each_above(std::span<const float> logits, const float& floor, Take take) {
  constexpr std::size_t kBlock = 4 * kLanes;
  for (std::size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const auto block = logits.subspan(begin, std::min(kBlock, logits.size() - begin));
    std::int32_t hits = 0;
    if (block.size() == kBlock) {
      for (std::size_t at = 0; at < kBlock; ++at) hits += block[at] >= floor ? 1 : 0;
      if (hits == 0) continue;
    }
    for (std::size_t at = 0; at < block.size(); ++at) {
      if (block[at] >= floor && block[at] > kLowest) take(begin + at);
    }
  }
}

}  // namespace

std::optional<std::int32_t> best_token(std::span<const float> logits) {
  constexpr std::size_t kBlock = 1024;
  float best = kLowest;
  std::size_t best_block = 0;
  for (std::size_t at = 0; at < logits.size(); at += kBlock) {
    const float here = best_of(logits.subspan(at, std::min(kBlock, logits.size() - at)));
    if (here > best) {
      best = here;
      best_block = at;
    }
  }
  if (best == kLowest) return std::nullopt;
  while (logits[best_block] != best) ++best_block;
  return static_cast<std::int32_t>(best_block);
}

// The exponential of Cephes (Moshier, netlib.org/cephes, single precision):
// x = n ln 2 + r, a polynomial for e^r, and n put into the exponent.
float exp_weight(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer.
  x = x > -87.0F ? x : -87.0F;
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float sum = 1.9875691500e-4F;
  sum = sum * r + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * r * r + r + 1.0F;
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  return sum * std::bit_cast<float>((exponent + 127) << 23);
}

double total_weight(std::span<const float> logits, float best, float scale) {
  constexpr std::size_t kBlock = 4096;  // Sums of floats stay short.
  double total = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const auto block = logits.subspan(begin, std::min(kBlock, logits.size() - begin));
    std::array<float, kLanes> sums{};
    std::size_t at = 0;
    for (; at + kLanes <= block.size(); at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += exp_weight((block[at + lane] - best) * scale);
      }
    }
    for (; at < block.size(); ++at) sums[0] += exp_weight((block[at] - best) * scale);
    for (const float sum : sums) total += static_cast<double>(sum);
  }
  return total;
}

void gather(std::span<const float> logits, float floor, float ceiling,
            std::vector<WeighedToken>& out) {
  for_each_above(logits, floor, [&](std::size_t id) {
    if (logits[id] >= ceiling) return;
    out.push_back({.token = static_cast<std::int32_t>(id), .logit = logits[id]});
  });
}

void gather_best(std::span<const float> logits, std::size_t count, std::vector<WeighedToken>& out) {
  out.clear();
  const std::size_t limit = std::max<std::size_t>(2 * count, 128);
  float floor = kLowest;  // `count` candidates are at least as high.
  const auto keep_best = [&] {
    std::ranges::nth_element(out, out.begin() + static_cast<std::ptrdiff_t>(count) - 1,
                             comes_before);
    floor = out[count - 1].logit;
    out.resize(count);
  };
  for_each_above(logits, floor, [&](std::size_t id) {
    out.push_back({.token = static_cast<std::int32_t>(id), .logit = logits[id]});
    if (out.size() == limit) keep_best();
  });
  if (out.size() > count) keep_best();
}

std::size_t prefix_weighing(std::span<WeighedToken> candidates, double target) {
  SEEDANCE_CHECK(!candidates.empty(), "there is a candidate to choose");
  constexpr std::size_t kFew = 32;
  std::size_t begin = 0;  // Those before it are first, and do not reach the target.
  std::size_t end = candidates.size();
  double before = 0;
  while (end - begin > kFew) {
    std::swap(candidates[begin + (end - begin) / 2], candidates[end - 1]);
    const WeighedToken pivot = candidates[end - 1];
    double weight = 0;
    std::size_t middle = begin;
    for (std::size_t at = begin; at < end - 1; ++at) {
      if (!comes_before(candidates[at], pivot)) continue;
      weight += static_cast<double>(candidates[at].weight);
      std::swap(candidates[at], candidates[middle++]);
    }
    std::swap(candidates[middle], candidates[end - 1]);
    if (before + weight >= target && middle > begin) {
      end = middle;
      continue;
    }
    before += weight + static_cast<double>(pivot.weight);
    begin = middle + 1;
    if (before >= target) return begin;
  }
  std::ranges::sort(candidates.subspan(begin, end - begin), comes_before);
  while (begin < end) {
    before += static_cast<double>(candidates[begin++].weight);
    if (before >= target) break;
  }
  return begin;
}

}  // namespace seedance::llama
