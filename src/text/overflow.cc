#include "text/overflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace seedance::text {
namespace {

bool by_user(const ChatMessage& message) {
  return message.role == "user";
}

bool by_system(const ChatMessage& message) {
  return message.role == "system" || message.role == "developer";
}

std::vector<ChatMessage> without(const std::vector<ChatMessage>& messages,
                                 std::span<const Turn> turns) {
  if (turns.empty()) return messages;
  const auto at = [&](std::size_t index) {
    return messages.begin() + static_cast<std::ptrdiff_t>(index);
  };
  std::vector<ChatMessage> left{messages.begin(), at(turns.front().begin)};
  left.insert(left.end(), at(turns.back().end), messages.end());
  return left;
}

Problem too_long(std::size_t whole, std::size_t least, std::size_t max) {
  return {.code = ErrorCode::context_length_exceeded,
          .message = fmt::format("the messages have {} tokens, and {} without those that may be "
                                 "left out, but the prompt has room for {}; shorten them or ask "
                                 "for fewer max_tokens",
                                 whole, least, max),
          .param = "messages",
          .numbers = {{"prompt_tokens", static_cast<std::int64_t>(whole)},
                      {"kept_tokens", static_cast<std::int64_t>(least)},
                      {"prompt_tokens_max", static_cast<std::int64_t>(max)}}};
}

}  // namespace

std::vector<Turn> droppable_turns(std::span<const ChatMessage> messages) {
  const auto first = std::ranges::find_if_not(messages, by_system);
  const auto asked = std::find_if(first, messages.end(), by_user);
  if (asked == messages.end()) return {};
  std::vector<Turn> turns;
  for (auto at = static_cast<std::size_t>(asked - messages.begin()) + 1; at < messages.size();
       ++at) {
    const bool begins = turns.empty() || (by_user(messages[at - 1]) && !by_user(messages[at]));
    if (begins) turns.push_back({at, at});
    turns.back().end = at + 1;
  }
  const auto has_question = [&](const Turn& turn) {
    return std::ranges::any_of(messages.subspan(turn.begin, turn.end - turn.begin), by_user);
  };
  for (bool last = false; !turns.empty() && !last; turns.pop_back()) {
    last = has_question(turns.back());
  }
  return turns;
}

PrepareOutcome fit_chat(const std::vector<ChatMessage>& messages, std::size_t tokens_max,
                        const RenderChat& render) {
  const auto tokens_of = [](const PrepareOutcome& outcome) -> std::size_t {
    const auto* prompt = std::get_if<PreparedPrompt>(&outcome);
    return prompt == nullptr ? 0 : prompt->tokens.size();
  };
  auto best = render(messages);
  const std::size_t whole = tokens_of(best);
  if (whole <= tokens_max) return best;  // A problem too.

  const std::vector<Turn> turns = droppable_turns(messages);
  const auto render_without = [&](std::size_t count) {
    return render(without(messages, std::span{turns}.first(count)));
  };
  std::size_t too_few = 0;
  std::size_t enough = turns.size();
  best = render_without(enough);
  if (tokens_of(best) > tokens_max) return too_long(whole, tokens_of(best), tokens_max);
  while (too_few + 1 < enough) {
    const std::size_t count = too_few + (enough - too_few) / 2;
    auto outcome = render_without(count);
    if (tokens_of(outcome) > tokens_max) {
      too_few = count;
    } else {
      enough = count;
      best = std::move(outcome);
    }
  }
  if (auto* prompt = std::get_if<PreparedPrompt>(&best)) {
    const std::size_t dropped = turns[enough - 1].end - turns.front().begin;
    prompt->dropped = {.messages = static_cast<std::uint32_t>(dropped),
                       .tokens = static_cast<std::uint32_t>(whole - prompt->tokens.size())};
  }
  return best;
}

std::size_t cut_behind(std::vector<TokenId>& tokens, std::size_t keep, std::size_t tokens_max) {
  SEEDANCE_CHECK(keep <= tokens_max, "what is kept fits");
  if (tokens.size() <= tokens_max) return 0;
  const std::size_t count = tokens.size() - tokens_max;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(keep);
  tokens.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  return count;
}

}  // namespace seedance::text
