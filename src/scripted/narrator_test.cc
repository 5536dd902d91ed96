#include "scripted/narrator.h"

#include <gtest/gtest.h>

#include "base/unicode.h"
#include "text/detokenizer.h"

namespace seedance::scripted {
namespace {

using Tokens = std::vector<TokenId>;

class NarratorTest : public testing::Test {
 protected:
  Narrator narrator(const Tokens& prompt, Ending ending = Ending::natural) const {
    return Narrator{vocabulary_, script_, prompt, ending};
  }

  // The tokens of a stream, at most `max`; the first are given.
  Tokens tell(const Tokens& prompt, std::size_t max, Tokens tokens = {}) const {
    Narrator one = narrator(prompt);
    for (const TokenId token : tokens) one.take(token);
    while (tokens.size() < max && (tokens.empty() || tokens.back() != kEnd)) {
      tokens.push_back(one.next());
      one.take(tokens.back());
    }
    return tokens;
  }

  std::string text(const Tokens& tokens) const {
    std::string text;
    for (const TokenId token : tokens) text += vocabulary_.pieces().visible(token);
    return text;
  }

  Tokens prompt(text::PromptInput input) const {
    return std::get<text::PreparedPrompt>(
               vocabulary_.prepare({.ticket = 0, .input = std::move(input)}).outcome)
        .tokens;
  }

  Vocabulary vocabulary_{8192};
  Script script_;
};

TEST_F(NarratorTest, TellsTheSamePromptTheSameAndAnotherSomethingElse) {
  const Tokens tokens = tell(prompt("one"), 1000);
  EXPECT_EQ(tell(prompt("one"), 1000), tokens);
  EXPECT_NE(tell(prompt("two"), 1000), tokens);
  script_.seed = 1;
  EXPECT_NE(tell(prompt("one"), 1000), tokens);
}

TEST_F(NarratorTest, EndsAfterTheScriptsLength) {
  const Tokens tokens = tell(prompt("one"), 1000);
  EXPECT_EQ(tokens.size(), script_.length);
  EXPECT_EQ(tokens.back(), kEnd);
  script_.length = 1;
  EXPECT_EQ(tell(prompt("one"), 1000), Tokens{kEnd});
}

TEST_F(NarratorTest, ContinuesFromEveryOffset) {
  const Tokens tokens = tell(prompt("one"), 1000);
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    const Tokens told(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(k));
    ASSERT_EQ(tell(prompt("one"), 1000, told), tokens) << k;
  }
}

TEST_F(NarratorTest, DependsOnTheTokensBefore) {
  const Tokens tokens = tell(prompt("one"), 1000);
  Tokens told(tokens.begin(), tokens.begin() + 3);
  told[1] = TokenId{'x'};
  Tokens other = tell(prompt("one"), 1000, told);
  EXPECT_EQ(other.size(), tokens.size());
  other[1] = tokens[1];
  EXPECT_NE(other, tokens);
}

TEST_F(NarratorTest, TellsWholeSentencesWithCutCharacters) {
  script_.length = 5000;
  const Tokens tokens = tell(prompt("one"), 5000);
  const std::string story = text(tokens);
  EXPECT_TRUE(is_utf8(story));
  EXPECT_NE(story.find(". The "), std::string::npos);
  EXPECT_NE(story.find("\n\n"), std::string::npos);
  EXPECT_NE(story.find("👩‍🚀"), std::string::npos);
  EXPECT_NE(story.find("日本語"), std::string::npos);
  std::size_t cut = 0;
  for (const TokenId token : tokens) cut += is_utf8(vocabulary_.pieces().visible(token)) ? 0 : 1;
  EXPECT_GT(cut, 50U);
}

// Though it is put together from phrases.
TEST_F(NarratorTest, TellsTheTokensOfItsText) {
  script_.length = 5000;
  Tokens tokens = tell(prompt("one"), 5000);
  tokens.pop_back();
  EXPECT_EQ(vocabulary_.encode(text(tokens)), tokens);
}

TEST_F(NarratorTest, EchoSaysThePromptAndEnds) {
  script_ = {.mode = Mode::echo, .length = 2};
  const std::string words = "Say <|user|> é, 日本!";
  EXPECT_EQ(text(tell(prompt(words), 1000)), words);
  EXPECT_EQ(tell(prompt(words), 1000).back(), kEnd);
  EXPECT_EQ(text(tell(prompt(""), 1000)), ".");
}

TEST_F(NarratorTest, EchoSaysTheLastMessageOfTheUser) {
  script_.mode = Mode::echo;
  using Chat = std::vector<text::ChatMessage>;
  EXPECT_EQ(text(tell(prompt(Chat{{"user", "no"}, {"user", "yes"}, {"tool", "no"}}), 1000)), "yes");
}

TEST_F(NarratorTest, NeverEndsWhenToldSo) {
  for (const Mode mode : {Mode::prose, Mode::echo}) {
    script_ = {.mode = mode, .length = 5};
    Narrator one = narrator(prompt("round"), Ending::never);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_NE(one.next(), kEnd);
      one.take(one.next());
    }
  }
}

}  // namespace
}  // namespace seedance::scripted
