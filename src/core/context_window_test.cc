#include "core/context_window.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace seedance::core {
namespace {

TEST(ContextWindow, DropsHalfOfWhatIsBehindTheKeptTokensWheneverItIsFull) {
  const ContextWindow window{.context = 10, .keep = 4};
  EXPECT_EQ(window.dropped(9), 0U);
  EXPECT_EQ(window.dropped(10), 3U);
  EXPECT_EQ(window.dropped(12), 3U);
  EXPECT_EQ(window.dropped(13), 6U);
  EXPECT_EQ(window.next_cut(0), 10U);
  EXPECT_EQ(window.next_cut(10), 13U);
  EXPECT_EQ(window.next_cut(12), 13U);
}

// The same as cutting a list of tokens by hand, one token after the other.
TEST(ContextWindow, IsWhatCuttingByHandComesTo) {
  for (std::uint32_t context = 2; context < 40; ++context) {
    for (std::uint32_t keep = 0; keep <= context / 2; ++keep) {
      const ContextWindow window{.context = context, .keep = keep};
      std::uint64_t length = 0;
      std::uint64_t cut_at = context;
      for (std::uint64_t tokens = 0; tokens < 200; ++tokens, ++length) {
        if (length == context) length -= std::max(1U, (context - keep) / 2);
        ASSERT_EQ(tokens - window.dropped(tokens), length) << context << " " << keep;
        if (tokens == cut_at) cut_at = tokens - length + context;
        ASSERT_EQ(window.next_cut(tokens), cut_at);
        ASSERT_GE(length, tokens == 0 ? 0U : 1U);
        ASSERT_LT(length, context);
        ASSERT_GT(window.next_cut(tokens), tokens);
      }
    }
  }
}

TEST(ContextWindow, WithoutAContextNothingIsDropped) {
  EXPECT_EQ(ContextWindow{}.dropped(1'000'000), 0U);
  EXPECT_EQ(ContextWindow{}.next_cut(5), UINT64_MAX);
}

}  // namespace
}  // namespace seedance::core
