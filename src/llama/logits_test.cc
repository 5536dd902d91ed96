#include "llama/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace seedance::llama {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Logits with ties: multiples of 1/8.
std::vector<float> random_logits(std::uint64_t seed, std::size_t size) {
  Prng random{seed};
  std::vector<float> logits(size);
  for (float& logit : logits) logit = static_cast<float>(random.below(256)) / 8.0F - 16.0F;
  return logits;
}

std::vector<WeighedToken> sorted(std::span<const float> logits) {
  std::vector<WeighedToken> all;
  all.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    all.push_back({.token = static_cast<std::int32_t>(id), .logit = logits[id]});
  }
  std::ranges::sort(all, comes_before);
  return all;
}

std::vector<std::int32_t> ids(std::span<const WeighedToken> tokens) {
  std::vector<std::int32_t> result;
  for (const WeighedToken& each : tokens) result.push_back(each.token);
  return result;
}

TEST(Logits, BestTokenIsTheFirstOfTheHighest) {
  for (const std::size_t size : {1U, 15U, 16U, 17U, 1000U, 1024U, 1025U, 4099U}) {
    const auto logits = random_logits(size, size);
    EXPECT_EQ(best_token(logits), sorted(logits).front().token) << size;
  }
}

TEST(Logits, BestTokenLeavesOutWhatIsNoCandidate) {
  EXPECT_EQ(best_token(std::vector{kNaN, -kInfinity, -3.0F, kNaN, -5.0F}), 2);
  EXPECT_EQ(best_token(std::vector{kNaN, -kInfinity}), std::nullopt);
  EXPECT_EQ(best_token(std::vector<float>{}), std::nullopt);
}

TEST(Logits, WeightIsTheExponential) {
  for (int hundredths = -8690; hundredths <= 0; ++hundredths) {
    const float x = static_cast<float>(hundredths) / 100;
    EXPECT_NEAR(exp_weight(x) / std::exp(x), 1.0F, 2e-7F) << x;
  }
  EXPECT_EQ(exp_weight(0), 1.0F);
  EXPECT_LT(exp_weight(-1e9F), 2e-38F);
  EXPECT_LT(exp_weight(-kInfinity), 2e-38F);
  EXPECT_LT(exp_weight(kNaN), 2e-38F);
}

TEST(Logits, TotalWeightIsTheSum) {
  for (const std::size_t size : {1U, 17U, 4096U, 9001U}) {
    const auto logits = random_logits(size, size);
    const float best = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>((logit - best) * 0.5F));
    EXPECT_NEAR(total_weight(logits, best, 0.5F) / sum, 1.0, 1e-6) << size;
  }
}

TEST(Logits, GathersWhatIsBetweenFloorAndCeiling) {
  const std::vector<float> logits{1, 5, kNaN, 3, -kInfinity, 4.5F, 5, 2};
  std::vector<WeighedToken> out;
  gather(logits, 3, 5, out);
  EXPECT_EQ(ids(out), (std::vector<std::int32_t>{3, 5}));
  gather(logits, -kInfinity, 3, out);
  EXPECT_EQ(ids(out), (std::vector<std::int32_t>{3, 5, 0, 7}));
}

TEST(Logits, GathersTheBest) {
  for (const std::size_t size : {5U, 64U, 3003U}) {
    const auto logits = random_logits(size + 1, size);
    for (const std::size_t count : {1U, 5U, 40U, 300U, 40000U}) {
      std::vector<WeighedToken> out;
      gather_best(logits, count, out);
      std::ranges::sort(out, comes_before);
      auto expected = sorted(logits);
      expected.resize(std::min(count, size));
      EXPECT_EQ(ids(out), ids(expected)) << size << " " << count;
    }
  }
}

TEST(Logits, FindsTheShortestPrefixThatWeighsEnough) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Prng random{seed};
    const auto logits = random_logits(seed, 1 + random.below(500));
    auto all = sorted(logits);
    double total = 0;
    for (auto& each : all) {
      each.weight = static_cast<float>(1 + random.below(64));  // Sums are exact.
      total += static_cast<double>(each.weight);
    }
    const double target = std::floor(random.uniform() * total);
    double sum = 0;
    std::size_t expected = 0;
    do sum += static_cast<double>(all[expected++].weight);
    while (sum < target);

    auto mixed = all;
    for (std::size_t at = mixed.size(); at > 1; --at) {
      std::swap(mixed[at - 1], mixed[random.below(at)]);
    }
    const std::size_t count = prefix_weighing(mixed, target);
    ASSERT_EQ(count, expected) << "seed " << seed;
    EXPECT_EQ(mixed[count - 1].token, all[count - 1].token) << "seed " << seed;
    mixed.resize(count);
    std::ranges::sort(mixed, comes_before);
    all.resize(count);
    EXPECT_EQ(ids(mixed), ids(all)) << "seed " << seed;
    EXPECT_EQ(prefix_weighing(mixed, total * 2), count) << "seed " << seed;
  }
}

}  // namespace
}  // namespace seedance::llama
