// What is left out of a prompt that does not fit its model's context.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace seedance::text {

// Messages [begin, end) of a chat.
struct Turn {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Turn&, const Turn&) = default;
};

// What may be left out of a chat, the oldest first: all but the system's messages at its
// beginning, the first of the user and the last turn, which has the user's last message. A turn is
// an answer and what the user said to it, so roles that alternate go on doing so.
std::vector<Turn> droppable_turns(std::span<const ChatMessage> messages);

// Turns a chat into tokens, the same chat always into the same.
using RenderChat = std::function<PrepareOutcome(const std::vector<ChatMessage>&)>;

// As much of the chat as takes at most `tokens_max` tokens: without the fewest of its oldest
// droppable turns. context_length_exceeded when it is too long without all of them.
PrepareOutcome fit_chat(const std::vector<ChatMessage>& messages, std::size_t tokens_max,
                        const RenderChat& render);

// Cuts out what is too much behind the first `keep` tokens, which are at most `tokens_max`; gives
// how many tokens that was.
std::size_t cut_behind(std::vector<TokenId>& tokens, std::size_t keep, std::size_t tokens_max);

}  // namespace seedance::text
