#include "text/codec.h"

#include <optional>
#include <utility>

#include "base/message.h"

namespace seedance::text {
namespace {

enum class Kind : std::uint8_t { prepare = 1, ready, failed, prepared };
enum class InputKind : std::uint8_t { text, tokens, messages };  // As PromptInput's.
constexpr auto kFormatLast = AnswerFormat::Kind::json_schema;
enum class OutcomeKind : std::uint8_t { prompt, problem };    // As PrepareReply's.
constexpr std::size_t kTextBytesMin = sizeof(std::uint32_t);  // An empty string's.

template <typename Enum>
void put_enum(MessageWriter& out, Enum value) {
  out.put(static_cast<std::uint8_t>(value));
}

template <typename Enum>
Enum get_enum(FieldReader& in) {
  return static_cast<Enum>(in.get<std::uint8_t>());
}

void put_messages(MessageWriter& out, const std::vector<ChatMessage>& messages) {
  out.put(static_cast<std::uint32_t>(messages.size()));
  for (const ChatMessage& message : messages) {
    out.put(message.role);
    out.put(message.content);
  }
}

std::vector<ChatMessage> get_messages(FieldReader& in) {
  std::vector<ChatMessage> messages(in.get_count(2 * kTextBytesMin));
  for (ChatMessage& message : messages) {
    message.role = in.get_text();
    message.content = in.get_text();
  }
  return messages;
}

struct InputWriter {
  MessageWriter& out;

  void operator()(const std::string& text) const {
    put_enum(out, InputKind::text);
    out.put(text);
  }
  void operator()(const std::vector<TokenId>& tokens) const {
    put_enum(out, InputKind::tokens);
    put_tokens(out, tokens);
  }
  void operator()(const std::vector<ChatMessage>& messages) const {
    put_enum(out, InputKind::messages);
    put_messages(out, messages);
  }
};

std::optional<PromptInput> get_input(FieldReader& in) {
  switch (get_enum<InputKind>(in)) {
    case InputKind::text:
      return std::string{in.get_text()};
    case InputKind::tokens:
      return get_tokens(in);
    case InputKind::messages:
      return get_messages(in);
  }
  return std::nullopt;
}

void put_format(MessageWriter& out, const AnswerFormat& format) {
  put_enum(out, format.kind);
  out.put(format.text);
  out.put(format.param);
}

std::optional<AnswerFormat> get_format(FieldReader& in) {
  AnswerFormat format{.kind = get_enum<AnswerFormat::Kind>(in)};
  format.text = in.get_text();
  format.param = in.get_text();
  if (format.kind > kFormatLast) return std::nullopt;
  return format;
}

void put_prompt(MessageWriter& out, const PreparedPrompt& prompt) {
  put_tokens(out, prompt.tokens);
  out.put(static_cast<std::uint32_t>(prompt.stop.size()));
  for (const std::string& stop : prompt.stop) out.put(stop);
  out.put(prompt.dropped.messages);
  out.put(prompt.dropped.tokens);
  out.put(prompt.keep);
  out.put(prompt.grammar);
}

PreparedPrompt get_prompt(FieldReader& in) {
  PreparedPrompt prompt{.tokens = get_tokens(in)};
  prompt.stop.resize(in.get_count(kTextBytesMin));
  for (std::string& stop : prompt.stop) stop = in.get_text();
  prompt.dropped.messages = in.get<std::uint32_t>();
  prompt.dropped.tokens = in.get<std::uint32_t>();
  prompt.keep = in.get<std::uint32_t>();
  prompt.grammar = in.get_text();
  return prompt;
}

struct EventWriter {
  MessageWriter& out;

  void operator()(const VocabularyReady& ready) const {
    put_enum(out, Kind::ready);
    out.put(ready.info.model_name);
    out.put(ready.info.kind);
    out.put(static_cast<std::uint8_t>(ready.info.has_chat_template));
    out.put(static_cast<std::uint8_t>(ready.info.lossless));
    out.put(ready.info.context_train);
    out.put(ready.pieces.encode());
  }
  void operator()(const VocabularyFailed& failed) const {
    put_enum(out, Kind::failed);
    out.put(failed.message);
  }
  void operator()(const PrepareReply& reply) const {
    put_enum(out, Kind::prepared);
    out.put(reply.ticket);
    if (const auto* prompt = std::get_if<PreparedPrompt>(&reply.outcome)) {
      put_enum(out, OutcomeKind::prompt);
      put_prompt(out, *prompt);
    } else {
      put_enum(out, OutcomeKind::problem);
      put_problem(out, std::get<Problem>(reply.outcome));
    }
  }
};

std::optional<VocabularyEvent> get_ready(FieldReader& in) {
  VocabularyReady ready;
  ready.info.model_name = in.get_text();
  ready.info.kind = in.get_text();
  const auto has_chat_template = in.get<std::uint8_t>();
  const auto lossless = in.get<std::uint8_t>();
  if (has_chat_template > 1 || lossless > 1) return std::nullopt;
  ready.info.has_chat_template = has_chat_template == 1;
  ready.info.lossless = lossless == 1;
  ready.info.context_train = in.get<std::uint32_t>();
  auto pieces = PieceTable::decode(as_bytes(in.get_text()));
  if (!pieces) return std::nullopt;
  ready.pieces = *std::move(pieces);
  return ready;
}

std::optional<VocabularyEvent> get_reply(FieldReader& in) {
  PrepareReply reply{.ticket = in.get<std::uint64_t>(), .outcome = {}};
  switch (get_enum<OutcomeKind>(in)) {
    case OutcomeKind::prompt:
      reply.outcome = get_prompt(in);
      return reply;
    case OutcomeKind::problem: {
      auto problem = get_problem(in);
      if (!problem) return std::nullopt;
      reply.outcome = *std::move(problem);
      return reply;
    }
  }
  return std::nullopt;
}

std::optional<VocabularyEvent> get_event(FieldReader& in) {
  switch (get_enum<Kind>(in)) {
    case Kind::ready:
      return get_ready(in);
    case Kind::failed:
      return VocabularyFailed{std::string{in.get_text()}};
    case Kind::prepared:
      return get_reply(in);
    case Kind::prepare:
      break;
  }
  return std::nullopt;
}

}  // namespace

void encode(const PrepareRequest& request, std::string& out) {
  MessageWriter writer{out};
  put_enum(writer, Kind::prepare);
  writer.put(request.ticket);
  std::visit(InputWriter{writer}, request.input);
  put_enum(writer, request.overflow);
  writer.put(request.tokens_max);
  writer.put(static_cast<std::uint8_t>(request.continues));
  put_format(writer, request.format);
}

void encode(const VocabularyEvent& event, std::string& out) {
  MessageWriter writer{out};
  std::visit(EventWriter{writer}, event);
}

Result<PrepareRequest> decode_prepare_request(Bytes body) {
  FieldReader in{body};
  if (get_enum<Kind>(in) != Kind::prepare) return fail(Errc::corrupt, "not a prepare request");
  const auto ticket = in.get<std::uint64_t>();
  auto input = get_input(in);
  if (!input) return fail(Errc::corrupt, "a broken prepare request");
  const auto overflow = get_enum<Overflow>(in);
  const auto tokens_max = in.get<std::uint32_t>();
  const bool continues = in.get_flag();
  auto format = get_format(in);
  if (!format || overflow > Overflow::shift || !in.at_end()) {
    return fail(Errc::corrupt, "a broken prepare request");
  }
  return PrepareRequest{ticket,     *std::move(input), overflow,
                        tokens_max, continues,         *std::move(format)};
}

Result<VocabularyEvent> decode_vocabulary_event(Bytes body) {
  FieldReader in{body};
  auto event = get_event(in);
  if (!event || !in.at_end()) return fail(Errc::corrupt, "a broken vocabulary event");
  return *std::move(event);
}

}  // namespace seedance::text
