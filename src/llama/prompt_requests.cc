// The part of Vocabulary that makes prompts fit, and continues conversations.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "llama/answer_grammar.h"
#include "llama/vocabulary.h"
#include "text/overflow.h"

namespace seedance::llama {
namespace {

using Chat = std::vector<text::ChatMessage>;

// Stands for what was said before. Nothing of a template merges with its end to one token.
constexpr std::string_view kSaid = "Seedance0";

Problem cannot_continue() {
  return {.code = ErrorCode::invalid_request,
          .message =
              "With these messages the model's chat template tells another beginning of the "
              "conversation: send the whole conversation, without \"parent\".",
          .param = "messages"};
}

bool is_instruction(const text::ChatMessage& message) {
  return message.role == "system" || message.role == "developer";
}

// The tokens of `whole` behind those of `beginning`, if it begins so.
std::optional<std::vector<TokenId>> rest_of(const std::vector<TokenId>& whole,
                                            const std::vector<TokenId>& beginning) {
  const auto [at, end] = std::ranges::mismatch(whole, beginning);
  if (end != beginning.end()) return std::nullopt;
  return std::vector<TokenId>{at, whole.end()};
}

}  // namespace

Vocabulary::Outcome Vocabulary::prepare(const text::PrepareRequest& request) const {
  auto grammar = answer_grammar(request.format, schema_limits_);
  if (auto* problem = std::get_if<Problem>(&grammar)) return std::move(*problem);
  auto outcome = fitted(request);
  if (auto* prompt = std::get_if<text::PreparedPrompt>(&outcome)) {
    prompt->grammar = std::get<std::string>(std::move(grammar));
  }
  return outcome;
}

Vocabulary::Outcome Vocabulary::fitted(const text::PrepareRequest& request) const {
  const auto* messages = std::get_if<Chat>(&request.input);
  const auto* text = std::get_if<std::string>(&request.input);
  try {
    if (request.continues && messages != nullptr) return continued(*messages);
    if (request.continues && text != nullptr) return continued(*text);
    auto outcome = request.overflow == text::Overflow::truncate_middle && messages != nullptr
                       ? text::fit_chat(*messages, request.tokens_max,
                                        [this](const Chat& chat) { return prepare(chat); })
                       : prepare(request.input);
    auto* prompt = std::get_if<text::PreparedPrompt>(&outcome);
    if (messages == nullptr || messages->empty() || prompt == nullptr) return outcome;
    // Also for a later turn that shifts.
    if (request.overflow == text::Overflow::shift || is_instruction(messages->front())) {
      prompt->keep = kept_of(*messages, prompt->tokens);
    }
    return outcome;
  } catch (const std::exception& error) {
    return Problem{.code = ErrorCode::invalid_request,
                   .message = fmt::format("The prompt cannot be prepared: {}", error.what())};
  }
}

// Behind a line end, since some vocabularies put a space before the first word of a text.
Vocabulary::Outcome Vocabulary::continued(const std::string& text) const {
  if (text.empty()) return text::PreparedPrompt{};
  auto checked = prepare(text);
  if (std::holds_alternative<Problem>(checked)) return checked;
  const auto line = encode("\n", Markers::plain, Special::none);
  auto rest = rest_of(encode("\n" + text, Markers::plain, Special::none), line);
  if (!rest) rest = encode(text, Markers::plain, Special::none);
  return text::PreparedPrompt{.tokens = *std::move(rest)};
}

// What the template puts behind an answer in a conversation that goes on with these messages.
Vocabulary::Outcome Vocabulary::continued(const Chat& messages) const {
  if (auto problem = why_not(messages)) return *std::move(problem);
  Chat all{{"user", std::string{kSaid}}, {"assistant", std::string{kSaid}}};
  const std::string before = render(all, Answer::none).text;
  all.insert(all.end(), messages.begin(), messages.end());
  Rendered rendered = render(all, Answer::begun);
  const std::size_t last = before.rfind(kSaid);
  if (last == std::string::npos) return cannot_continue();
  const auto said = encode_chat(std::string_view{before}.substr(0, last + kSaid.size()));
  auto rest = rest_of(encode_chat(rendered.text), said);
  if (!rest) return cannot_continue();
  return text::PreparedPrompt{.tokens = *std::move(rest), .stop = std::move(rendered.stop)};
}

// The beginning that the chat has in common with any other of the same system messages.
std::uint32_t Vocabulary::kept_of(const Chat& messages, const std::vector<TokenId>& tokens) const {
  const auto said = std::ranges::find_if_not(messages, is_instruction);
  Chat other{messages.begin(), said};
  other.push_back({"user", std::string{kSaid}});
  try {
    const auto common = encode_chat(render(other, Answer::begun).text);
    return static_cast<std::uint32_t>(std::ranges::mismatch(tokens, common).in1 - tokens.begin());
  } catch (const std::exception&) {  // A template that wants more than that.
    return 0;
  }
}

}  // namespace seedance::llama
