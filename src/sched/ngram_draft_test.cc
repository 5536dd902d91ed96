#include "sched/ngram_draft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace seedance::sched {
namespace {

std::vector<TokenId> tokens(std::string_view letters) {
  std::vector<TokenId> result;
  for (const char letter : letters) result.push_back({letter});
  return result;
}

std::vector<TokenId> guess(NgramDraft& draft, std::span<const TokenId> tokens,
                           std::uint32_t count) {
  const auto guessed = draft.guess(tokens, count);
  return {guessed.begin(), guessed.end()};
}

std::vector<TokenId> guess(std::string_view letters, std::uint32_t count) {
  NgramDraft draft;
  return guess(draft, tokens(letters), count);
}

TEST(NgramDraft, GuessesWhatFollowedTheLastTime) {
  EXPECT_EQ(guess("the cat saw the c", 5), tokens("at sa"));
  EXPECT_EQ(guess("xab1 xab2 xab", 1), tokens("2"));
}

TEST(NgramDraft, PrefersTheLongerMatch) {
  EXPECT_EQ(guess("abcd1 cd2 abcd", 1), tokens("1"));
  EXPECT_EQ(guess("bcd1 cd2 ebcd", 1), tokens("1"));
  EXPECT_EQ(guess("cd1 ed2 ecd", 1), tokens("1"));
}

TEST(NgramDraft, GuessesNothingOfWhatIsNew) {
  EXPECT_EQ(guess("", 4), tokens(""));
  EXPECT_EQ(guess("a", 4), tokens(""));
  EXPECT_EQ(guess("abcdef", 4), tokens(""));
  EXPECT_EQ(guess("axbxcx", 4), tokens(""));  // One token is no reason.
}

TEST(NgramDraft, GoesOnWithItselfBeyondTheEnd) {
  EXPECT_EQ(guess("xyabcabc", 7), tokens("abcabca"));
  EXPECT_EQ(guess("aaa", 4), tokens("aaaa"));
}

TEST(NgramDraft, KnowsHowMuchOfItsGuessCame) {
  NgramDraft draft;
  const auto known = tokens("abcdefab");
  draft.guess(known, 3);
  EXPECT_TRUE(draft.on_token({'c'}));
  EXPECT_EQ(draft.rest().size(), 2);
  EXPECT_EQ(draft.rest()[0], TokenId{'d'});
  EXPECT_FALSE(draft.on_token({'x'}));
  EXPECT_TRUE(draft.rest().empty());
  EXPECT_FALSE(draft.on_token({'e'}));
}

TEST(NgramDraft, LearnsHowOftenItIsRight) {
  NgramDraft draft;
  std::vector<TokenId> known = tokens("abcdabcd");
  const auto say = [&](char letter) {
    draft.guess(known, 1);
    draft.on_token({letter});
    known.push_back({letter});
  };
  for (int i = 0; i < 40; ++i) say("abcd"[i % 4]);
  EXPECT_GT(draft.chance(), 0.9);
  for (int i = 0; i < 40; ++i) say("ab"[i % 2]);
  const double repeating = draft.chance();
  for (int i = 0; i < 40; ++i) say("abbabaab"[i * i % 7]);
  EXPECT_LT(draft.chance(), repeating);
  const double before = draft.chance();
  known = tokens("0123");
  NgramDraft fresh;
  fresh.guess(known, 1);
  fresh.on_token({'4'});
  EXPECT_EQ(fresh.chance(), NgramDraft{}.chance()) << "without a guess nothing is learned";
  EXPECT_GT(before, 0);
}

// The last earlier place where the longest of its last 4, 3 or 2 tokens stand.
std::vector<TokenId> looked_for(std::span<const TokenId> tokens, std::uint32_t count) {
  for (const std::size_t length : {4U, 3U, 2U}) {
    if (tokens.size() <= length) continue;
    for (std::size_t end = tokens.size() - 1; end >= length; --end) {
      if (!std::ranges::equal(tokens.subspan(end - length, length), tokens.last(length))) continue;
      std::vector<TokenId> all{tokens.begin(), tokens.end()};
      for (std::size_t at = end; all.size() < tokens.size() + count; ++at) all.push_back(all[at]);
      return {all.end() - count, all.end()};
    }
  }
  return {};
}

TEST(NgramDraft, FindsWhatALookAtAllTokensFinds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Prng random{seed};
    const std::uint64_t letters = 2 + random.below(30);
    NgramDraft draft;
    std::vector<TokenId> known;
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t more = 1 + random.below(9); more > 0; --more) {
        known.push_back({static_cast<std::int32_t>(random.below(letters))});
      }
      const auto count = static_cast<std::uint32_t>(1 + random.below(12));
      ASSERT_EQ(guess(draft, known, count), looked_for(known, count)) << seed << ' ' << step;
    }
  }
}

}  // namespace
}  // namespace seedance::sched
