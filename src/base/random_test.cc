#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance {
namespace {

// Known answer of Philox4x32-10 for key 0, counter 0 (Random123's kat_vectors).
TEST(CounterRandom, IsPhilox) {
  EXPECT_EQ(counter_random(0, 0), 0xe169c58d6627e8d5ULL);
}

TEST(CounterRandom, DependsOnKeyAndCounter) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t key = 0; key < 64; ++key) {
    for (std::uint64_t counter = 0; counter < 64; ++counter) {
      seen.insert(counter_random(key, counter));
    }
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
}

TEST(CounterUniform, StaysBelowOneAndAveragesAHalf) {
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = counter_uniform(42, static_cast<std::uint64_t>(i));
    ASSERT_GE(draw, 0.0);
    ASSERT_LT(draw, 1.0);
    sum += draw;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);
}

TEST(Prng, SameSeedSameSequence) {
  Prng one{9};
  Prng two{9};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next(), two.next());
}

TEST(Prng, BelowReachesEveryNumberAndNoOther) {
  Prng prng{3};
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(prng.below(7));
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_EQ(*seen.rbegin(), 6U);
}

}  // namespace
}  // namespace seedance
