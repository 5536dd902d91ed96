#include "server/shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace seedance::server {
namespace {

TEST(Shares, GiveEachPartyItsPlaces) {
  Shares shares;
  auto first = shares.take("a", 2);
  const auto second = shares.take("a", 2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(shares.take("a", 2));
  EXPECT_TRUE(shares.take("b", 2));
  first.reset();
  const auto third = shares.take("a", 2);
  EXPECT_TRUE(third);
  EXPECT_FALSE(shares.take("a", 2));
}

TEST(Shares, FollowALimitThatChanges) {
  Shares shares;
  const auto first = shares.take("a", 0);
  const auto second = shares.take("a", 0);  // Counted although there was no limit.
  EXPECT_FALSE(shares.take("a", 2));
  EXPECT_TRUE(shares.take("a", 3));
}

TEST(Shares, CountAPlaceOnceWhereverItMoves) {
  Shares shares;
  auto taken = shares.take("a", 1);
  ASSERT_TRUE(taken);
  Shares::Place place = std::move(*taken);
  taken = std::nullopt;
  EXPECT_FALSE(shares.take("a", 1));
  place.reset();
  EXPECT_TRUE(shares.take("a", 1));
}

TEST(Shares, KeepNothingOfWhoIsGone) {
  Shares shares;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(shares.take(std::to_string(i), 1));
  EXPECT_EQ(shares.size(), 0U);
  const auto place = shares.take("a", 1);
  EXPECT_EQ(shares.size(), 1U);
}

TEST(Shares, DoNotCountWhoHasNoName) {
  Shares shares;
  const auto first = shares.take("", 1);
  EXPECT_TRUE(first && shares.take("", 1));
  EXPECT_EQ(shares.size(), 0U);
}

TEST(Shares, AreExactAmongThreads) {
  Shares shares;
  constexpr std::uint32_t kMost = 3;
  std::atomic<std::uint32_t> inside{0};
  {
    constexpr int kThreads = 4;
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          auto place = shares.take("a", kMost);
          if (!place) continue;
          EXPECT_LE(inside.fetch_add(1) + 1, kMost);
          inside.fetch_sub(1);
        }
      });
    }
  }
  EXPECT_EQ(shares.size(), 0U);
}

}  // namespace
}  // namespace seedance::server
