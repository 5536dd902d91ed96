#include "sim/story.h"

#include <gtest/gtest.h>

#include "base/unicode.h"

namespace seedance::sim {
namespace {

const scripted::Vocabulary& vocabulary() {
  static const scripted::Vocabulary kVocabulary{1024};
  return kVocabulary;
}

TEST(Stories, AStoryEndsByItselfOrAtItsLength) {
  Stories stories{vocabulary(), {.length = 12, .context = 100}};
  const StoryId whole = stories.add({.prompt = "a", .tokens_max = 50}, "t");
  EXPECT_EQ(stories[whole].total(), 12U);
  EXPECT_EQ(stories[whole].ending, stream::FinishReason::stop);
  EXPECT_EQ(stories[whole].tokens.back(), scripted::kEnd);

  const StoryId cut = stories.add({.prompt = "b", .tokens_max = 5}, "t");
  EXPECT_EQ(stories[cut].total(), 5U);
  EXPECT_EQ(stories[cut].ending, stream::FinishReason::length);

  const StoryId endless = stories.add({.prompt = "c", .tokens_max = 1000, .endless = true}, "t");
  EXPECT_EQ(stories[endless].prompt.size() + stories[endless].total(), 100U);
  EXPECT_EQ(stories[endless].ending, stream::FinishReason::length);
}

TEST(Stories, AStopStringEndsAStoryAndIsNotInIt) {
  Stories stories{vocabulary(), {.context = 1000}};
  const StoryId id = stories.add({.prompt = "a", .tokens_max = 200, .stop = {"e"}}, "t");
  EXPECT_EQ(stories[id].ending, stream::FinishReason::stop);
  EXPECT_EQ(stories[id].text.find('e'), std::string::npos);
}

TEST(Stories, TheTextOfTokensIsWholeAndAddsUp) {
  Stories stories{vocabulary(), {.length = 300, .context = 1000}};
  const Story& story = stories[stories.add({.prompt = "a", .tokens_max = 300}, "t")];
  std::string all;
  for (std::size_t i = 0; i < story.total(); ++i) {
    EXPECT_TRUE(is_utf8(story.text_of(i, i + 1)));
    all += story.text_of(i, i + 1);
  }
  EXPECT_EQ(all, story.text);
  EXPECT_GT(all.size(), 500U);
}

TEST(Stories, AreFoundByTheirPrompts) {
  Stories stories{vocabulary(), {}};
  const StoryId a = stories.add({.prompt = "a", .tokens_max = 5}, "t");
  const StoryId b = stories.add({.prompt = "b", .tokens_max = 5}, "t");
  EXPECT_EQ(stories.find("a"), a);
  EXPECT_EQ(stories.find(stories[b].prompt), b);
  EXPECT_EQ(stories.find("c"), std::nullopt);
}

}  // namespace
}  // namespace seedance::sim
