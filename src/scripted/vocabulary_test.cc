#include "scripted/vocabulary.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace seedance::scripted {
namespace {

class ScriptedVocabulary : public testing::Test {
 protected:
  std::string decode(std::span<const TokenId> tokens) const {
    std::string text;
    for (const TokenId token : tokens) text += vocabulary_.pieces().visible(token);
    return text;
  }

  text::PrepareReply prepare(text::PromptInput input) const {
    return vocabulary_.prepare({.ticket = 9, .input = std::move(input)});
  }

  std::vector<TokenId> prompt(text::PromptInput input) const {
    return std::get<text::PreparedPrompt>(prepare(std::move(input)).outcome).tokens;
  }

  Problem problem(text::PromptInput input) const {
    return std::get<Problem>(prepare(std::move(input)).outcome);
  }

  Vocabulary vocabulary_{100};
};

TEST_F(ScriptedVocabulary, RefusesGrammarsByName) {
  const auto reply = vocabulary_.prepare({.ticket = 9,
                                          .input = "a",
                                          .format = {.kind = text::AnswerFormat::Kind::json_schema,
                                                     .text = "{}",
                                                     .param = "response_format"}});
  const auto& problem = std::get<Problem>(reply.outcome);
  EXPECT_EQ(problem.code, ErrorCode::invalid_request);
  EXPECT_EQ(problem.param, "response_format");
}

TEST_F(ScriptedVocabulary, EncodesAnyBytesWithoutLoss) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng{seed};
    std::string text;
    for (int i = 0; i < 40; ++i) {
      if (prng.below(2) == 0) {
        text += vocabulary_.pieces().raw({static_cast<std::int32_t>(prng.below(500))});
      } else {
        text += static_cast<char>(prng.below(256));
      }
    }
    ASSERT_EQ(decode(vocabulary_.encode(text)), text) << seed;
  }
}

TEST_F(ScriptedVocabulary, KnowsWordsAndSplitsCharacters) {
  EXPECT_EQ(vocabulary_.encode("The tide").size(), 2U);
  const auto tokens = vocabulary_.encode(" 日本語");
  ASSERT_EQ(tokens.size(), 5U);
  EXPECT_EQ(vocabulary_.pieces().visible(tokens[3]), "\xAC\xE8");  // A tail and a head.
}

TEST_F(ScriptedVocabulary, MarkersAreInvisibleAndNeverReadFromText) {
  for (std::int32_t token = kStart.value; token <= kTurnEnd.value; ++token) {
    EXPECT_EQ(vocabulary_.pieces().visible({token}), "");
    EXPECT_EQ(vocabulary_.pieces().kind({token}),
              token == kEnd.value ? text::PieceKind::end : text::PieceKind::control);
  }
  EXPECT_EQ(vocabulary_.pieces().raw(kTurnEnd), "<|turn_end|>");
  EXPECT_GT(vocabulary_.encode("<|turn_end|>").size(), 1U);
}

TEST_F(ScriptedVocabulary, PreparesTextTokensAndChats) {
  EXPECT_EQ(prepare("The").ticket, 9U);
  EXPECT_EQ(prompt(""), std::vector<TokenId>{kStart});
  EXPECT_EQ(prompt("A"), (std::vector<TokenId>{kStart, {'A'}}));
  EXPECT_EQ(prompt(std::vector<TokenId>{{7}, kUser}), (std::vector<TokenId>{{7}, kUser}));
  EXPECT_EQ(prompt(std::vector<text::ChatMessage>{{"developer", "a"}, {"user", ""}}),
            (std::vector<TokenId>{kStart, kSystem, {'a'}, kTurnEnd, kUser, kTurnEnd, kAssistant}));
}

TEST_F(ScriptedVocabulary, LeavesOutTurnsOfLongChats) {
  const std::vector<text::ChatMessage> chat{{"system", "s"}, {"user", "a"},      {"assistant", "b"},
                                            {"user", "c"},   {"assistant", "d"}, {"user", "e"}};
  const auto reply = vocabulary_.prepare(
      {.input = chat, .overflow = text::Overflow::truncate_middle, .tokens_max = 14});
  const auto& prepared = std::get<text::PreparedPrompt>(reply.outcome);
  EXPECT_EQ(prepared.tokens,
            prompt(std::vector<text::ChatMessage>{chat[0], chat[1], chat[4], chat[5]}));
  EXPECT_EQ(prepared.dropped, (text::Dropped{.messages = 2, .tokens = 6}));
  const auto shifts = vocabulary_.prepare({.input = chat, .overflow = text::Overflow::shift});
  EXPECT_EQ(std::get<text::PreparedPrompt>(shifts.outcome).keep, 4U);  // Start, role, s, end.
}

TEST_F(ScriptedVocabulary, ContinuesConversations) {
  const auto next = [&](text::PromptInput input) {
    const auto reply = vocabulary_.prepare({.input = std::move(input), .continues = true});
    return std::get<text::PreparedPrompt>(reply.outcome).tokens;
  };
  EXPECT_EQ(next(std::vector<text::ChatMessage>{{"user", "a"}}),
            (std::vector<TokenId>{kTurnEnd, kUser, {'a'}, kTurnEnd, kAssistant}));
  EXPECT_EQ(next("a"), (std::vector<TokenId>{{'a'}}));
  EXPECT_TRUE(next("").empty());
  EXPECT_EQ(next(std::vector<TokenId>{{7}}), (std::vector<TokenId>{{7}}));
}

TEST_F(ScriptedVocabulary, RefusesWhatIsNoPrompt) {
  EXPECT_EQ(problem(std::vector<TokenId>{}).param, "prompt");
  const Problem unknown = problem(std::vector<TokenId>{{0}, {-1}});
  EXPECT_EQ(unknown.code, ErrorCode::invalid_request);
  EXPECT_EQ(unknown.numbers, (std::vector<Problem::Number>{{"token", -1}}));
  EXPECT_EQ(problem(std::vector<text::ChatMessage>{}).param, "messages");
  EXPECT_EQ(problem(std::vector<text::ChatMessage>{{"robot", "hi"}}).param, "messages");
}

TEST_F(ScriptedVocabulary, SaysWhatItIs) {
  EXPECT_EQ(vocabulary_.ready().info.context_train, 100U);
  EXPECT_TRUE(vocabulary_.ready().info.lossless);
  EXPECT_EQ(vocabulary_.ready().pieces, Vocabulary{1}.pieces());
}

}  // namespace
}  // namespace seedance::scripted
