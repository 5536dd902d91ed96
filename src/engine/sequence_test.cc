#include "engine/sequence.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

std::vector<TokenId> range(std::int32_t from, std::int32_t to) {
  std::vector<TokenId> tokens;
  for (; from < to; ++from) tokens.push_back({from});
  return tokens;
}

// Prompt 0..4, committed 5..9.
Job job(std::uint32_t keep, std::uint32_t dropped) {
  return {.id = {1},
          .gen = {1},
          .prompt = range(0, 5),
          .committed = range(5, 10),
          .keep = keep,
          .dropped = dropped};
}

TEST(Sequence, IsPromptAndCommittedTokensWhereNothingWasDropped) {
  EXPECT_EQ(sequence_of(job(2, 0)), range(0, 10));
  EXPECT_EQ(sequence_tokens(job(2, 0)), 10U);
  EXPECT_EQ(prompt_left(job(2, 0)), 5U);
}

TEST(Sequence, LacksWhatWasDroppedBehindWhatIsKept) {
  EXPECT_EQ(sequence_of(job(2, 2)), (std::vector<TokenId>{{0}, {1}, {4}, {5}, {6}, {7}, {8}, {9}}));
  EXPECT_EQ(prompt_left(job(2, 2)), 3U);
  EXPECT_EQ(sequence_of(job(2, 5)), (std::vector<TokenId>{{0}, {1}, {7}, {8}, {9}}));
  EXPECT_EQ(prompt_left(job(2, 5)), 2U);
  EXPECT_EQ(sequence_of(job(0, 9)), range(9, 10));
  EXPECT_EQ(prompt_left(job(0, 9)), 0U);
}

TEST(Sequence, IsEmptyWhereLessIsThereThanWasDropped) {
  EXPECT_EQ(sequence_tokens(job(2, 7)), 3U);
  EXPECT_EQ(sequence_of(job(2, 8)), range(0, 2));
  EXPECT_EQ(sequence_tokens(job(2, 9)), 0U);
  EXPECT_EQ(sequence_tokens(job(0, 10)), 0U);
  EXPECT_EQ(sequence_tokens(job(UINT32_MAX, UINT32_MAX)), 0U);
}

}  // namespace
}  // namespace seedance::engine
