#include "api/delivery.h"

#include <gtest/gtest.h>

namespace seedance::api {
namespace {

Rendered chunk(std::uint64_t from, std::uint64_t to) {
  Rendered rendered;
  rendered.add({from}, {to});
  return rendered;
}

TEST(Rendered, SeesAGapBetweenItsChunks) {
  Rendered rendered;
  rendered.add({3}, {5});
  rendered.add({5}, {9});
  EXPECT_EQ(rendered.from, Offset{3});
  EXPECT_EQ(rendered.tokens, 6U);
  EXPECT_FALSE(rendered.gap);
  for (const std::uint64_t wrong : {8U, 10U}) {
    Rendered broken = rendered;
    broken.add({wrong}, {12});
    EXPECT_TRUE(broken.gap);
  }
}

TEST(DeliveryCheck, IsContentWithEveryTokenOnce) {
  DeliveryCheck check{Offset{4}};
  EXPECT_TRUE(check.on_rendered(chunk(4, 6)));
  EXPECT_TRUE(check.on_rendered({}));
  EXPECT_TRUE(check.on_rendered(chunk(6, 7)));
  EXPECT_FALSE(check.complete({8}));
  EXPECT_TRUE(check.on_rendered(chunk(7, 8)));
  EXPECT_TRUE(check.complete({8}));
}

TEST(DeliveryCheck, SeesAGapAndARepeat) {
  for (const std::uint64_t from : {1U, 3U}) {
    DeliveryCheck check;
    EXPECT_TRUE(check.on_rendered(chunk(0, 2)));
    EXPECT_FALSE(check.on_rendered(chunk(from, 5)));
    EXPECT_FALSE(check.complete({5}));
  }
  DeliveryCheck check;
  Rendered broken = chunk(0, 1);
  broken.gap = true;
  EXPECT_FALSE(check.on_rendered(broken));
}

TEST(DeliveryCheck, WantsAgainWhatWasTakenBack) {
  DeliveryCheck check;
  EXPECT_TRUE(check.on_rendered(chunk(0, 5)));
  EXPECT_TRUE(check.on_taken_back({2}));
  EXPECT_FALSE(check.complete({5}));
  DeliveryCheck lost = check;
  EXPECT_FALSE(lost.on_rendered(chunk(5, 6)));
  EXPECT_FALSE(lost.complete({6}));
  EXPECT_TRUE(check.on_rendered(chunk(2, 6)));
  EXPECT_TRUE(check.complete({6}));
}

TEST(DeliveryCheck, TakesNothingBackThatWasNotRendered) {
  DeliveryCheck check{Offset{3}};
  EXPECT_TRUE(check.on_rendered(chunk(3, 5)));
  EXPECT_FALSE(check.on_taken_back({6}));
  EXPECT_FALSE(check.on_taken_back({2}));
  EXPECT_TRUE(check.complete({5}));
}

}  // namespace
}  // namespace seedance::api
