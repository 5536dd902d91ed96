#include "sched/guess.h"

#include <gtest/gtest.h>

#include <array>

namespace seedance::sched {
namespace {

Guess guessed(std::initializer_list<int> tokens) {
  Guess guess;
  for (const int token : tokens) guess.add({token});
  return guess;
}

TEST(Guess, KnowsHowMuchOfItCame) {
  Guess guess = guessed({1, 2, 3});
  EXPECT_TRUE(guess.on_token({1}));
  ASSERT_EQ(guess.rest().size(), 2);
  EXPECT_EQ(guess.rest()[0], TokenId{2});
  EXPECT_FALSE(guess.on_token({9}));
  EXPECT_TRUE(guess.rest().empty());
  EXPECT_FALSE(guess.on_token({3}));
}

TEST(Guess, LearnsHowOftenItIsRight) {
  Guess guess;
  const auto judge = [&](int token) {
    guess.set(std::array{TokenId{1}});
    guess.on_token({token});
  };
  for (int i = 0; i < 40; ++i) judge(1);
  EXPECT_GT(guess.chance(), 0.95);
  for (int i = 0; i < 40; ++i) judge(2);
  EXPECT_LT(guess.chance(), 0.05);
}

TEST(Guess, LearnsNothingWhereNothingWasGuessed) {
  Guess guess{0.5, 0.5};
  guess.on_token({1});
  EXPECT_EQ(guess.chance(), 0.5);
  guess.add({2});
  guess.on_token({2});
  EXPECT_EQ(guess.chance(), 0.75);
}

}  // namespace
}  // namespace seedance::sched
