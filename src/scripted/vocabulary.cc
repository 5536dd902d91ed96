#include "scripted/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "scripted/phrases.h"
#include "text/overflow.h"

namespace seedance::scripted {
namespace {

using text::PieceKind;

// Small, so that nearly every character of an ornament is cut.
constexpr std::size_t kFragmentBytes = 2;

constexpr auto kMarkers =
    std::to_array<std::string_view>({"<|start|>", "<|end|>", "<|system|>", "<|user|>",
                                     "<|assistant|>", "<|tool|>", "<|turn_end|>"});

std::optional<TokenId> role_marker(std::string_view role) {
  if (role == "system" || role == "developer") return kSystem;
  if (role == "user") return kUser;
  if (role == "assistant") return kAssistant;
  if (role == "tool") return kTool;
  return std::nullopt;
}

Problem refuse(std::string param, std::string message) {
  return {
      .code = ErrorCode::invalid_request, .message = std::move(message), .param = std::move(param)};
}

// Turns one kind of input into a prompt.
struct Preparer {
  using Outcome = text::PrepareOutcome;
  const Vocabulary& vocabulary;

  Outcome operator()(const std::string& text) const {
    text::PreparedPrompt prompt{.tokens = {kStart}};
    append(prompt, text);
    return prompt;
  }

  Outcome operator()(const std::vector<TokenId>& tokens) const {
    if (tokens.empty()) return refuse("prompt", "the prompt holds no token");
    for (const TokenId token : tokens) {
      if (vocabulary.pieces().contains(token)) continue;
      Problem problem = refuse("prompt", fmt::format("token {} is not one of the vocabulary's {}",
                                                     token.value, vocabulary.pieces().size()));
      problem.numbers = {{"token", token.value}};
      return problem;
    }
    return text::PreparedPrompt{.tokens = tokens};
  }

  Outcome operator()(const std::vector<text::ChatMessage>& messages) const {
    if (messages.empty()) return refuse("messages", "there is no message");
    text::PreparedPrompt prompt{.tokens = {kStart}};
    for (const text::ChatMessage& message : messages) {
      const auto marker = role_marker(message.role);
      if (!marker) return refuse("messages", fmt::format("unknown role '{}'", message.role));
      prompt.tokens.push_back(*marker);
      append(prompt, message.content);
      prompt.tokens.push_back(kTurnEnd);
    }
    prompt.tokens.push_back(kAssistant);
    return prompt;
  }

  void append(text::PreparedPrompt& prompt, std::string_view text) const {
    const std::vector<TokenId> tokens = vocabulary.encode(text);
    prompt.tokens.insert(prompt.tokens.end(), tokens.begin(), tokens.end());
  }
};

}  // namespace

Vocabulary::Vocabulary(std::uint32_t context_tokens)
    : ready_{.info = {.model_name = "scripted",
                      .kind = "words and bytes",
                      .has_chat_template = true,
                      .lossless = true,
                      .context_train = context_tokens},
             .pieces = {}} {
  for (int byte = 0; byte < 256; ++byte) {
    ready_.pieces.add(std::string(1, static_cast<char>(byte)), PieceKind::text);
  }
  for (const std::string_view marker : kMarkers) {
    ready_.pieces.add(marker, marker == "<|end|>" ? PieceKind::end : PieceKind::control);
  }
  const auto add_words = [this](std::string_view phrase) {
    while (!phrase.empty()) {
      const std::size_t end = std::min(phrase.find(' '), phrase.size());
      add_word(phrase.substr(0, phrase.find_first_of(" .,!")));
      phrase.remove_prefix(std::min(end + 1, phrase.size()));
    }
  };
  for (const std::string_view phrase : kOpenings) add_words(phrase);
  for (const std::string_view phrase : kActions) add_words(phrase);
  for (const std::string_view phrase : kPlaces) add_words(phrase);
  for (const std::string_view phrase : kClosings) add_words(phrase);
  for (const std::string_view ornament : kOrnaments) {
    const std::string spaced = fmt::format(" {}", ornament);
    for (std::size_t at = 0; at < spaced.size(); at += kFragmentBytes) {
      add_piece(spaced.substr(at, kFragmentBytes));
    }
  }
  prepare_phrases();
}

void Vocabulary::add_word(std::string_view word) {
  add_piece(word);
  add_piece(fmt::format(" {}", word));
}

void Vocabulary::add_piece(std::string_view piece) {
  if (piece.size() < 2 || tokens_.contains(piece)) return;
  tokens_.emplace(piece, TokenId{static_cast<std::int32_t>(ready_.pieces.size())});
  ready_.pieces.add(piece, PieceKind::text);
  std::size_t& longest = longest_.at(static_cast<unsigned char>(piece.front()));
  longest = std::max(longest, piece.size());
}

std::vector<TokenId> Vocabulary::encode(std::string_view text) const {
  std::vector<TokenId> tokens;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t size = std::clamp<std::size_t>(longest_.at(byte), 1, text.size());
    auto found = tokens_.end();
    for (; size > 1; --size) {
      found = tokens_.find(text.substr(0, size));
      if (found != tokens_.end()) break;
    }
    tokens.push_back(found != tokens_.end() ? found->second : TokenId{byte});
    text.remove_prefix(size);
  }
  return tokens;
}

void Vocabulary::prepare_phrases() {
  const auto add = [this](Phrases list, const auto& phrases) {
    for (const std::string_view phrase : phrases) {
      phrases_[static_cast<std::size_t>(list)].push_back(
          {.bare = encode(phrase), .spaced = encode(fmt::format(" {}", phrase))});
    }
  };
  add(Phrases::openings, kOpenings);
  add(Phrases::actions, kActions);
  add(Phrases::places, kPlaces);
  add(Phrases::closings, kClosings);
  add(Phrases::ornaments, kOrnaments);
}

text::PrepareReply Vocabulary::prepare(const text::PrepareRequest& request) const {
  if (request.format.kind != text::AnswerFormat::Kind::any) {
    return {.ticket = request.ticket,
            .outcome = Problem{.code = ErrorCode::invalid_request,
                               .message = "The scripted engine cannot follow a grammar or schema: "
                                          "it says what its script says. Leave it out, or use a "
                                          "model.",
                               .param = request.format.param}};
  }
  return {.ticket = request.ticket, .outcome = prepared(request)};
}

text::PrepareOutcome Vocabulary::prepared(const text::PrepareRequest& request) const {
  const Preparer prepare{*this};
  const auto* messages = std::get_if<std::vector<text::ChatMessage>>(&request.input);
  if (messages != nullptr && request.overflow == text::Overflow::truncate_middle &&
      !request.continues) {
    return text::fit_chat(*messages, request.tokens_max, prepare);
  }
  auto outcome = std::visit(prepare, request.input);
  auto* prompt = std::get_if<text::PreparedPrompt>(&outcome);
  if (prompt == nullptr) return outcome;
  std::vector<TokenId>& tokens = prompt->tokens;
  if (messages != nullptr && tokens[1] == kSystem) {
    const auto end = std::ranges::find(tokens, kTurnEnd);
    prompt->keep = static_cast<std::uint32_t>(end - tokens.begin()) + 1;
  }
  // kStart is at the very beginning only; what was said last in a chat has no end yet.
  const bool tokens_given = std::holds_alternative<std::vector<TokenId>>(request.input);
  if (request.continues && !tokens_given) {
    tokens.erase(tokens.begin());
    if (messages != nullptr) tokens.insert(tokens.begin(), kTurnEnd);
  }
  return outcome;
}

}  // namespace seedance::scripted
