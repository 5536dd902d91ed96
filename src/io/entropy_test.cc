#include "io/entropy.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "io/clock.h"

namespace seedance::io {
namespace {

TEST(Entropy, GivesNothingTwice) {
  Entropy entropy;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(entropy.number());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Entropy, FillsAnySize) {
  Entropy entropy;
  std::vector<std::uint8_t> bytes(1000);
  entropy.fill(bytes);
  // Each value is expected about four times; none of 1000 random bytes is as good as impossible.
  EXPECT_GT(std::set<std::uint8_t>(bytes.begin(), bytes.end()).size(), 200U);
}

TEST(Entropy, StreamIdsSortByTheTimeTheyAreGiven) {
  Entropy entropy;
  const WallTime begin = wall_now();
  const StreamId first = entropy.stream_id(begin);
  const StreamId later = entropy.stream_id(begin + std::chrono::milliseconds{1});
  EXPECT_LT(first, later);
  EXPECT_NE(entropy.stream_id(begin), first);
}

}  // namespace
}  // namespace seedance::io
