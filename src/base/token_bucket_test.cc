#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{std::chrono::hours{1}};

// How many can be taken at once.
int drain(TokenBucket& bucket, std::uint32_t per_second, TimePoint now) {
  int count = 0;
  while (bucket.take(per_second, now)) ++count;
  return count;
}

TEST(TokenBucket, LetsATenthOfASecondsWorthThroughAtOnce) {
  for (const auto& [rate, burst] : {std::pair{1000U, 100}, {100U, 10}, {15U, 1}, {1U, 1}}) {
    TokenBucket bucket;
    EXPECT_EQ(drain(bucket, rate, kStart), burst) << rate;
    EXPECT_EQ(drain(bucket, rate, kStart + 24h), burst) << rate;  // A long pause saves no more.
  }
}

TEST(TokenBucket, LetsSoManyThroughASecondWhoeverAsksHowOften) {
  TokenBucket bucket;
  (void)drain(bucket, 100, kStart);
  int count = 0;
  for (TimePoint now = kStart; now < kStart + 10s; now += 1ms) count += drain(bucket, 100, now);
  EXPECT_EQ(count, 999);  // The next comes at 10 s.
}

TEST(TokenBucket, SaysWhenTheNextOneCanBeTaken) {
  TokenBucket bucket;
  (void)drain(bucket, 100, kStart);
  EXPECT_EQ(bucket.ready_at(100), kStart + 10ms);
  EXPECT_FALSE(bucket.take(100, kStart + 10ms - 1ns));
  EXPECT_TRUE(bucket.take(100, kStart + 10ms));
}

TEST(TokenBucket, TakesBackWhatIsNotNeeded) {
  TokenBucket bucket;
  (void)drain(bucket, 1, kStart);
  bucket.put_back(1);
  EXPECT_EQ(drain(bucket, 1, kStart), 1);
}

TEST(TokenBucket, LetsEverybodyThroughWithoutARateAndTakesANewOneOver) {
  TokenBucket bucket;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.take(0, kStart));
  bucket.put_back(0);
  EXPECT_EQ(drain(bucket, 10, kStart), 1);
  EXPECT_TRUE(bucket.take(0, kStart));
  EXPECT_EQ(drain(bucket, 1000, kStart), 0);            // A tenth of a second is owed ...
  EXPECT_EQ(drain(bucket, 1000, kStart + 100ms), 100);  // ... and is over.
}

}  // namespace
}  // namespace seedance
