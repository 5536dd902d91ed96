#include "api/chat.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/answer_format.h"
#include "wire/json.h"

namespace seedance::api {
namespace {

constexpr std::string_view kUnsupported = "is not supported";
constexpr std::string_view kNoTools = "is not supported: there are no tools yet";

constexpr std::array kFields{
    FieldRule{.name = "messages"},
    FieldRule{.name = "model"},
    FieldRule{.name = "max_completion_tokens"},
    FieldRule{.name = "max_tokens"},
    FieldRule{.name = "temperature"},
    FieldRule{.name = "top_p"},
    FieldRule{.name = "presence_penalty"},
    FieldRule{.name = "frequency_penalty"},
    FieldRule{.name = "logit_bias"},
    FieldRule{.name = "logprobs"},
    FieldRule{.name = "top_logprobs"},
    FieldRule{.name = "seed"},
    FieldRule{.name = "stop"},
    FieldRule{.name = "stream"},
    FieldRule{.name = "stream_options"},
    FieldRule{.name = "response_format"},
    // Extensions.
    FieldRule{.name = "top_k"},
    FieldRule{.name = "min_p"},
    FieldRule{.name = "repeat_penalty"},
    FieldRule{.name = "ignore_eos"},
    FieldRule{.name = "boundary"},
    FieldRule{.name = "priority"},
    FieldRule{.name = "deadline_ms"},
    FieldRule{.name = "overflow"},
    FieldRule{.name = "parent"},
    FieldRule{.name = "grammar"},
    FieldRule{.name = "user", .use = FieldUse::ignored, .reason = "a label of the caller's"},
    FieldRule{
        .name = "safety_identifier", .use = FieldUse::ignored, .reason = "a label of the caller's"},
    FieldRule{
        .name = "metadata", .use = FieldUse::ignored, .reason = "labels of a stored completion"},
    FieldRule{.name = "prompt_cache_key", .use = FieldUse::ignored, .reason = "a hint for caching"},
    FieldRule{
        .name = "prompt_cache_retention", .use = FieldUse::ignored, .reason = "a hint for caching"},
    FieldRule{.name = "prediction", .use = FieldUse::ignored, .reason = "a hint for speed"},
    FieldRule{
        .name = "parallel_tool_calls", .use = FieldUse::ignored, .reason = "there are no tools"},
    FieldRule{.name = "n",
              .use = FieldUse::fixed,
              .values = "[1]",
              .reason = "must be 1: several choices are not supported"},
    FieldRule{.name = "store",
              .use = FieldUse::fixed,
              .values = "[false]",
              .reason = "must be false: completions are not stored"},
    FieldRule{.name = "service_tier",
              .use = FieldUse::fixed,
              .values = R"(["auto","default"])",
              .reason = "must be \"auto\" or \"default\": there are no other tiers"},
    FieldRule{.name = "modalities",
              .use = FieldUse::fixed,
              .values = R"([["text"]])",
              .reason = "must be [\"text\"]: other modalities are not supported"},
    FieldRule{.name = "reasoning_effort",
              .use = FieldUse::fixed,
              .values = R"(["none"])",
              .reason = "must be \"none\": reasoning cannot be steered"},
    FieldRule{.name = "verbosity",
              .use = FieldUse::fixed,
              .values = R"(["medium"])",
              .reason = "must be \"medium\": verbosity cannot be steered"},
    FieldRule{.name = "tools", .use = FieldUse::fixed, .values = "[[]]", .reason = kNoTools},
    FieldRule{.name = "tool_choice",
              .use = FieldUse::fixed,
              .values = R"(["none","auto"])",
              .reason = kNoTools},
    FieldRule{.name = "functions", .use = FieldUse::fixed, .values = "[[]]", .reason = kNoTools},
    FieldRule{.name = "function_call",
              .use = FieldUse::fixed,
              .values = R"(["none","auto"])",
              .reason = kNoTools},
    FieldRule{.name = "audio", .use = FieldUse::fixed, .reason = kUnsupported},
    FieldRule{.name = "web_search_options", .use = FieldUse::fixed, .reason = kUnsupported},
};

void read_max_tokens(Fields& fields, std::optional<std::uint32_t>& max_tokens) {
  const auto max = fields.integer("max_completion_tokens", 1, kTokensMax);
  const auto old = fields.integer("max_tokens", 1, kTokensMax);
  if (max && old && *max != *old) {
    return fields.refuse("max_tokens", "differs from \"max_completion_tokens\"");
  }
  if (max || old) max_tokens = static_cast<std::uint32_t>(max ? *max : *old);
}

void read_logprobs(Fields& fields, engine::Sampling& sampling) {
  sampling.logprobs = fields.flag("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, engine::kTopLogprobsMax).value_or(0);
  if (top > 0 && !sampling.logprobs) {
    return fields.refuse("top_logprobs", "needs \"logprobs\": true");
  }
  sampling.top_logprobs = static_cast<std::uint32_t>(top);
}

void append_logprob(wire::JsonWriter& json, const text::PieceTable& pieces, TokenId token,
                    float logprob) {
  const std::string_view piece = pieces.raw(token);
  json.field("token", piece).field("logprob", shown_logprob(logprob)).key("bytes").begin_array();
  for (const char c : piece) json.value(static_cast<unsigned>(static_cast<unsigned char>(c)));
  json.end_array();
}

// The value of "logprobs". Tokens that end a generation are left out, as OpenAI
// does.
void append_logprobs(wire::JsonWriter& json, const text::PieceTable& pieces,
                     const stream::TokenLog& log, Offset from, Offset to) {
  json.begin_object().key("content").begin_array();
  for (Offset at = from; at < to; at = at + 1) {
    if (pieces.kind(log.token(at)) == text::PieceKind::end) continue;
    const stream::TokenLogprobs& logprobs = log.logprobs(at);
    json.begin_object();
    append_logprob(json, pieces, log.token(at), logprobs.chosen);
    json.key("top_logprobs").begin_array();
    for (const auto& [token, logprob] : logprobs.top) {
      json.begin_object();
      append_logprob(json, pieces, token, logprob);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("refusal").null().end_object();
}

}  // namespace

std::span<const FieldRule> chat_fields() {
  return kFields;
}

Parsed<ChatRequest> parse_chat(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  Fields fields{*object};
  fields.check(kFields);
  ChatRequest chat;
  read_model(fields, chat.request);
  if (const auto* messages = fields.find("messages")) {
    if (auto read = read_messages(fields, *messages)) chat.request.input = std::move(*read);
  } else {
    fields.refuse("messages", "must be given");
  }
  read_max_tokens(fields, chat.request.max_tokens);
  read_sampling(fields, chat.request.sampling);
  read_logprobs(fields, chat.request.sampling);
  read_seed(fields, chat.request);
  read_overflow(fields, chat.request);
  read_parent(fields, chat.request);
  read_text_options(fields, chat.request.text);
  read_urgency(fields, chat.request);
  read_response_format(fields, chat.request);
  const StreamOptions options = read_stream_options(fields);
  chat.options = {.stream = options.stream,
                  .include_usage = options.include_usage,
                  .logprobs = chat.request.sampling.logprobs};
  chat.request.surface = core::Surface::chat;
  chat.request.include_usage = options.include_usage;
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return chat;
}

ChatSseView::ChatSseView(const AnswerHead& head, const ChatOptions& options, BodyFraming framing)
    : events_(head, {.id_prefix = "chatcmpl-",
                     .object = "chat.completion.chunk",
                     .include_usage = options.include_usage}),
      framing_(framing),
      pieces_(head.pieces),
      logprobs_(options.logprobs && head.pieces != nullptr) {}

Rendered ChatSseView::render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                             std::size_t bytes_max) const {
  const std::size_t token_bytes = logprobs_ ? logprob_bytes(log, cursor.next) : 0;
  return render_events(
      log, cursor, out, framing_, bytes_max, token_bytes,
      [&](Offset from, Offset to) {
        if (from == Offset{0}) append_role(out);
        append_delta(log, from, to, out);
      },
      [&] {
        if (cursor.next == Offset{0} && finish_reason(log.terminal().reason)) append_role(out);
        append_end(log.terminal(), out);
      });
}

void ChatSseView::append_role(std::string& out) const {
  events_.begin(Offset{0}, out);
  out += R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
         R"("finish_reason":null})";
  events_.end(out);
}

void ChatSseView::append_delta(const stream::TokenLog& log, Offset from, Offset to,
                               std::string& out) const {
  std::string spill;
  const std::string_view text = log.text(from, to, spill);
  if (text.empty() && !logprobs_) return;
  events_.begin(to, out);
  wire::JsonWriter json{out};
  json.begin_object().field("index", 0).key("delta");
  json.begin_object().field("content", text).end_object().key("logprobs");
  if (logprobs_) {
    append_logprobs(json, *pieces_, log, from, to);
  } else {
    json.null();
  }
  json.key("finish_reason").null().end_object();
  events_.end(out);
}

void ChatSseView::append_end(const stream::Terminal& terminal, std::string& out) const {
  const auto reason = finish_reason(terminal.reason);
  if (!reason) return events_.append_failure(terminal, out);
  events_.begin(Offset{terminal.usage.completion_tokens}, out);
  out += R"({"index":0,"delta":{},"logprobs":null,"finish_reason":")";
  out += *reason;
  out += "\"}";
  events_.end(out);
  events_.append_done(terminal, out);
}

HttpAnswer chat_answer(const AnswerHead& head, const ChatOptions& options,
                       const stream::TokenLog& log) {
  const stream::Terminal& terminal = log.terminal();
  const auto reason = finish_reason(terminal.reason);
  if (!reason) return error_answer(failure(terminal));
  const Offset end = log.head().end;
  std::string text;
  log.append_text({}, end, text);
  HttpAnswer answer;
  wire::JsonWriter json{answer.body};
  json.begin_object();
  append_head(json, head, "chatcmpl-", "chat.completion");
  json.key("choices").begin_array().begin_object().field("index", 0).key("message");
  json.begin_object().field("role", "assistant").field("content", text);
  json.key("refusal").null().end_object().key("logprobs");
  if (options.logprobs && head.pieces != nullptr) {
    append_logprobs(json, *head.pieces, log, {}, end);
  } else {
    json.null();
  }
  json.field("finish_reason", *reason).end_object().end_array().key("usage");
  append_usage(json, terminal.usage);
  json.end_object();
  return answer;
}

}  // namespace seedance::api
