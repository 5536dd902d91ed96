#include "text/overflow.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "base/random.h"

namespace seedance::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// s, d, u and a for system, developer, user and assistant. The content is so many bytes.
std::vector<ChatMessage> chat(std::string_view roles, std::size_t size = 1) {
  std::vector<ChatMessage> messages;
  for (const char role : roles) {
    messages.push_back({role == 's'   ? "system"
                        : role == 'd' ? "developer"
                        : role == 'u' ? "user"
                                      : "assistant",
                        std::string(size, role)});
  }
  return messages;
}

// A token for each byte and one for each message.
PrepareOutcome render(const std::vector<ChatMessage>& messages) {
  PreparedPrompt prompt;
  for (const ChatMessage& message : messages) {
    prompt.tokens.push_back({0});
    for (const char c : message.content) prompt.tokens.push_back({c});
  }
  return prompt;
}

PreparedPrompt fitted(const std::vector<ChatMessage>& messages, std::size_t tokens_max) {
  const auto outcome = fit_chat(messages, tokens_max, render);
  const auto* prompt = std::get_if<PreparedPrompt>(&outcome);
  EXPECT_NE(prompt, nullptr) << std::get<Problem>(outcome).message;
  return prompt == nullptr ? PreparedPrompt{} : *prompt;
}

TEST(DroppableTurns, AreTheAnswersInTheMiddleWithWhatFollowedThem) {
  EXPECT_THAT(droppable_turns(chat("suauauau")), ElementsAre(Turn{2, 4}, Turn{4, 6}));
  EXPECT_THAT(droppable_turns(chat("sdauau")), IsEmpty());  // An answer before the question.
  EXPECT_THAT(droppable_turns(chat("uuauaau")), ElementsAre(Turn{1, 2}, Turn{2, 4}));
}

TEST(DroppableTurns, KeepTheLastWordOfTheUser) {
  EXPECT_THAT(droppable_turns(chat("uauaua")), ElementsAre(Turn{1, 3}));
  EXPECT_THAT(droppable_turns(chat("uau")), IsEmpty());
  EXPECT_THAT(droppable_turns(chat("ua")), IsEmpty());
  EXPECT_THAT(droppable_turns(chat("sa")), IsEmpty());
  EXPECT_THAT(droppable_turns({}), IsEmpty());
}

TEST(FitChat, LeavesOutNothingThatFits) {
  EXPECT_EQ(fitted(chat("suau"), 8).dropped, Dropped{});
  EXPECT_EQ(fitted(chat("suau"), 8).tokens.size(), 8U);
}

TEST(FitChat, LeavesOutTheOldestTurns) {
  const PreparedPrompt prompt = fitted(chat("suauauauau", 9), 61);
  EXPECT_EQ(prompt.dropped, (Dropped{.messages = 4, .tokens = 40}));
  EXPECT_EQ(prompt.tokens.size(), 60U);
}

TEST(FitChat, SaysHowMuchTooLongItIs) {
  const auto outcome = fit_chat(chat("suauau", 9), 39, render);
  const auto& problem = std::get<Problem>(outcome);
  EXPECT_EQ(problem.code, ErrorCode::context_length_exceeded);
  EXPECT_THAT(problem.numbers,
              ElementsAre(Problem::Number{"prompt_tokens", 60}, Problem::Number{"kept_tokens", 40},
                          Problem::Number{"prompt_tokens_max", 39}));
}

TEST(FitChat, HandsOnWhatTheTemplateRefuses) {
  const auto refuses = [](const std::vector<ChatMessage>&) -> PrepareOutcome {
    return Problem{.code = ErrorCode::invalid_request, .message = "no"};
  };
  EXPECT_EQ(std::get<Problem>(fit_chat(chat("uau"), 1, refuses)).message, "no");
}

// Of any chat: the fewest turns are missing, neither the system, nor the first and the last
// word of the user, and roles that alternate still do.
TEST(FitChat, KeepsWhatItPromisesOfAnyChat) {
  std::uint64_t draws = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(counter_random(7, draws++) % bound);
  };
  for (int round = 0; round < 2000; ++round) {
    const bool alternating = below(2) == 0;
    std::string roles(below(3), 's');
    for (std::size_t i = below(12); i > 0; --i) {
      roles += alternating ? (roles.empty() || roles.back() != 'u' ? 'u' : 'a') : "ua"[below(2)];
    }
    auto messages = chat(roles);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      messages[i].content = std::string(below(9), static_cast<char>('A' + i));
    }
    const auto whole = std::get<PreparedPrompt>(render(messages)).tokens;
    const std::size_t max = below(80);
    const auto turns = droppable_turns(messages);
    const auto at = [&](std::size_t index) {
      return messages.begin() + static_cast<std::ptrdiff_t>(index);
    };
    std::vector<std::vector<ChatMessage>> ways{messages};  // With 0, 1, ... turns less.
    for (const Turn& turn : turns) {
      auto& way = ways.emplace_back(messages.begin(), at(turns.front().begin));
      way.insert(way.end(), at(turn.end), messages.end());
    }
    const auto fits = std::ranges::find_if(ways, [&](const auto& way) {
      return std::get<PreparedPrompt>(render(way)).tokens.size() <= max;
    });
    const auto outcome = fit_chat(messages, max, render);
    ASSERT_EQ(std::holds_alternative<PreparedPrompt>(outcome), fits != ways.end()) << roles;
    if (fits == ways.end()) continue;
    const auto& prompt = std::get<PreparedPrompt>(outcome);
    ASSERT_EQ(prompt.tokens, std::get<PreparedPrompt>(render(*fits)).tokens) << roles;
    ASSERT_EQ(prompt.dropped.messages, messages.size() - fits->size());
    ASSERT_EQ(prompt.dropped.tokens, whole.size() - prompt.tokens.size());
    for (std::size_t i = 1; alternating && i < fits->size(); ++i) {
      if ((*fits)[i].role != "system") ASSERT_NE((*fits)[i].role, (*fits)[i - 1].role) << roles;
    }
    const auto by_user = [](const ChatMessage& message) { return message.role == "user"; };
    const auto kept = [&](auto begin, auto end) {
      const auto found = std::find_if(begin, end, by_user);
      return found == end || std::ranges::find(*fits, *found) != fits->end();
    };
    ASSERT_TRUE(kept(messages.begin(), messages.end())) << roles;
    ASSERT_TRUE(kept(messages.rbegin(), messages.rend())) << roles;
    ASSERT_EQ(std::ranges::count((*fits), "system", &ChatMessage::role),
              std::ranges::count(messages, "system", &ChatMessage::role));
  }
}

TEST(CutBehind, CutsWhatIsTooMuch) {
  std::vector<TokenId> tokens{{0}, {1}, {2}, {3}, {4}, {5}};
  EXPECT_EQ(cut_behind(tokens, 2, 6), 0U);
  EXPECT_EQ(cut_behind(tokens, 2, 4), 2U);
  EXPECT_THAT(tokens, ElementsAre(TokenId{0}, TokenId{1}, TokenId{4}, TokenId{5}));
  EXPECT_EQ(cut_behind(tokens, 2, 2), 2U);
  EXPECT_THAT(tokens, ElementsAre(TokenId{0}, TokenId{1}));
}

}  // namespace
}  // namespace seedance::text
