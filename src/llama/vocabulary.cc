#include "llama/vocabulary.h"

#include <chat.h>
#include <fmt/format.h>
#include <llama.h>

#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <utility>

#include "llama/child.h"
#include "llama/log_capture.h"
#include "llama/message_socket.h"
#include "llama/model_file.h"
#include "llama/pieces.h"
#include "text/offsets.h"

namespace seedance::llama {
namespace {

// Texts that a lossless vocabulary gives back byte for byte.
constexpr std::array<std::string_view, 4> kProbes{"Hello world", "  Two  spaces\n\n\tand\ttabs ",
                                                  "caf\u00e9 cafe\u0301 \u4e2d\u6587 \U0001F331",
                                                  "x=1;\r\n\u00a0\ufb01"};

Problem invalid(std::string message, std::string param = {}) {
  return {
      .code = ErrorCode::invalid_request, .message = std::move(message), .param = std::move(param)};
}

Problem too_large(std::string_view what, std::size_t size, std::size_t size_max) {
  return {
      .code = ErrorCode::payload_too_large,
      .message = fmt::format("The prompt has {} {}, at most {} are taken.", size, what, size_max),
      .numbers = {{"size", static_cast<std::int64_t>(size)},
                  {"size_max", static_cast<std::int64_t>(size_max)}}};
}

std::string metadata(const llama_model* model, const std::string& key) {
  std::array<char, 1024> value{};
  const int size = llama_model_meta_val_str(model, key.c_str(), value.data(), value.size());
  return size < 0 ? "" : value.data();
}

std::string_view kind_name(enum llama_vocab_type type) {
  switch (type) {
    case LLAMA_VOCAB_TYPE_SPM:
      return "spm";
    case LLAMA_VOCAB_TYPE_BPE:
      return "bpe";
    case LLAMA_VOCAB_TYPE_WPM:
      return "wpm";
    case LLAMA_VOCAB_TYPE_UGM:
      return "ugm";
    case LLAMA_VOCAB_TYPE_RWKV:
      return "rwkv";
    case LLAMA_VOCAB_TYPE_PLAMO2:
      return "plamo2";
    default:
      return "other";
  }
}

}  // namespace

Result<std::unique_ptr<Vocabulary>> Vocabulary::load(const std::string& path, LogCapture& log,
                                                     const SchemaLimits& limits) {
  const auto file = inspect_model_file(path);
  if (!file) return fail(file.error().code, file.error().detail);
  llama_model_params parameters = llama_model_default_params();
  parameters.vocab_only = true;
  std::vector<const char*> paths;
  for (const std::string& each : file->paths) paths.push_back(each.c_str());
  std::unique_ptr<Vocabulary> result{new Vocabulary};
  result->schema_limits_ = limits;
  result->model_ = llama_model_load_from_splits(paths.data(), paths.size(), parameters);
  if (result->model_ == nullptr) {
    return fail(Errc::invalid,
                fmt::format("model file '{}' gives no vocabulary: {}", path, log.take()));
  }
  result->vocabulary_ = llama_model_get_vocab(result->model_);
  if (llama_vocab_type(result->vocabulary_) == LLAMA_VOCAB_TYPE_NONE) {
    return fail(Errc::invalid, fmt::format("model file '{}' has no vocabulary", path));
  }
  if (llama_model_chat_template(result->model_, nullptr) == nullptr) return result;
  try {
    result->templates_ = common_chat_templates_init(result->model_, "").release();
  } catch (const std::exception& error) {
    result->template_error_ = error.what();
  }
  return result;
}

Vocabulary::~Vocabulary() {
  if (templates_ != nullptr) common_chat_templates_free(templates_);
  if (model_ != nullptr) llama_model_free(model_);
}

text::VocabularyReady Vocabulary::describe() const {
  text::VocabularyReady ready{.info = {}, .pieces = read_pieces(vocabulary_)};
  ready.info.model_name = metadata(model_, "general.name");
  ready.info.kind = kind_name(llama_vocab_type(vocabulary_));
  ready.info.has_chat_template = templates_ != nullptr || !template_error_.empty();
  ready.info.lossless = lossless(ready.pieces);
  const std::string context =
      metadata(model_, metadata(model_, "general.architecture") + ".context_length");
  std::from_chars(context.data(), context.data() + context.size(), ready.info.context_train);
  return ready;
}

bool Vocabulary::lossless(const text::PieceTable& pieces) const {
  for (const std::string_view probe : kProbes) {
    const auto tokens = encode(probe, Markers::plain, Special::added);
    if (!text::token_offsets(tokens, pieces, probe)) return false;
  }
  return true;
}

std::vector<TokenId> Vocabulary::encode(std::string_view text, Markers markers,
                                        Special special) const {
  std::vector<llama_token> tokens(text.size() / 2 + 8);
  const auto run = [&] {
    return llama_tokenize(vocabulary_, text.data(), static_cast<std::int32_t>(text.size()),
                          tokens.data(), static_cast<std::int32_t>(tokens.size()),
                          special == Special::added, markers == Markers::parsed);
  };
  int count = run();
  if (count < 0) {
    tokens.resize(static_cast<std::size_t>(-count));
    count = run();
  }
  tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
  std::vector<TokenId> result;
  result.reserve(tokens.size());
  for (const llama_token token : tokens) result.push_back({token});
  return result;
}

std::variant<text::PreparedPrompt, Problem> Vocabulary::prepare(
    const text::PromptInput& input) const {
  try {
    auto outcome = std::visit([this](const auto& each) { return prepared(each); }, input);
    const auto* prompt = std::get_if<text::PreparedPrompt>(&outcome);
    if (prompt != nullptr && prompt->tokens.empty()) return invalid("The prompt is empty.");
    return outcome;
  } catch (const std::exception& error) {  // The template's own refusals come this way.
    return invalid(fmt::format("The prompt cannot be prepared: {}", error.what()));
  }
}

Vocabulary::Outcome Vocabulary::prepared(const std::string& text) const {
  if (text.size() > kPromptBytesMax) return too_large("bytes", text.size(), kPromptBytesMax);
  return text::PreparedPrompt{.tokens = encode(text, Markers::plain, Special::added)};
}

Vocabulary::Outcome Vocabulary::prepared(const std::vector<TokenId>& tokens) const {
  if (tokens.size() > kPromptTokensMax) return too_large("tokens", tokens.size(), kPromptTokensMax);
  const std::int32_t count = llama_vocab_n_tokens(vocabulary_);
  for (const TokenId token : tokens) {
    if (token.value >= 0 && token.value < count) continue;
    return invalid(
        fmt::format("Token {} is outside the vocabulary of {} tokens.", token.value, count),
        "prompt");
  }
  return text::PreparedPrompt{.tokens = tokens};
}

std::optional<Problem> Vocabulary::why_not(const std::vector<text::ChatMessage>& messages) const {
  if (!template_error_.empty()) {
    return invalid(
        fmt::format("The model's chat template is broken, use a plain prompt: {}", template_error_),
        "messages");
  }
  if (messages.size() > kChatMessagesMax) {
    return too_large("messages", messages.size(), kChatMessagesMax);
  }
  std::size_t bytes = 0;
  for (const text::ChatMessage& each : messages) bytes += each.role.size() + each.content.size();
  if (bytes > kPromptBytesMax) return too_large("bytes", bytes, kPromptBytesMax);
  return std::nullopt;
}

Vocabulary::Outcome Vocabulary::prepared(const std::vector<text::ChatMessage>& messages) const {
  if (auto problem = why_not(messages)) return *std::move(problem);
  Rendered rendered = render(messages, Answer::begun);
  return text::PreparedPrompt{.tokens = encode_chat(rendered.text),
                              .stop = std::move(rendered.stop)};
}

std::vector<TokenId> Vocabulary::encode_chat(std::string_view rendered) const {
  return encode(rendered, templates_ == nullptr ? Markers::plain : Markers::parsed, Special::added);
}

Vocabulary::Rendered Vocabulary::render(const std::vector<text::ChatMessage>& messages,
                                        Answer answer) const {
  if (templates_ == nullptr) {
    std::string joined;
    for (const text::ChatMessage& each : messages) {
      if (!joined.empty()) joined += '\n';
      joined += each.content;
    }
    return {.text = std::move(joined)};
  }
  common_chat_templates_inputs inputs;
  inputs.add_generation_prompt = answer == Answer::begun;
  inputs.force_pure_content = true;  // Or each request would have the template analysed.
  for (const text::ChatMessage& each : messages) {
    common_chat_msg& message = inputs.messages.emplace_back();
    message.role = each.role;
    message.content = each.content;
  }
  common_chat_params rendered = common_chat_templates_apply(templates_, inputs);
  return {.text = std::move(rendered.prompt), .stop = std::move(rendered.additional_stops)};
}

namespace {

Result<void> send(MessageSocket& socket, const text::VocabularyEvent& event) {
  std::string out;
  text::encode(event, out);
  return socket.send(out);
}

Result<void> serve(MessageSocket& socket, const Vocabulary& vocabulary) {
  while (true) {
    const auto body = socket.receive(MessageSocket::Wait::yes);
    if (!body) return std::unexpected(body.error());
    const auto request = text::decode_prepare_request(**body);
    if (!request) return std::unexpected(request.error());
    const text::PrepareReply reply{.ticket = request->ticket,
                                   .outcome = vocabulary.prepare(*request)};
    if (const auto sent = send(socket, reply); !sent) return std::unexpected(sent.error());
  }
}

}  // namespace

int run_vocabulary(int fd, const std::string& model_path, const SchemaLimits& limits) {
  follow_parent(fd);
  MessageSocket socket{fd};
  LogCapture log;
  const auto refuse = [&](const std::string& message) {
    static_cast<void>(send(socket, text::VocabularyFailed{message}));
    return 2;
  };
  try {
    const auto vocabulary = Vocabulary::load(model_path, log, limits);
    if (!vocabulary) return refuse(vocabulary.error().detail);
    static_cast<void>(send(socket, (*vocabulary)->describe()));
    const auto served = serve(socket, **vocabulary);
    return served.error().code == Errc::disconnected ? 0 : 1;
  } catch (const std::exception& error) {
    return refuse(fmt::format("model file '{}' gives no vocabulary: {}", model_path, error.what()));
  }
}

}  // namespace seedance::llama
