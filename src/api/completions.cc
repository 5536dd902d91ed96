#include "api/completions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <utility>

#include "api/answer_format.h"
#include "base/unicode.h"
#include "wire/json.h"

namespace seedance::api {
namespace {

namespace json = boost::json;

constexpr std::array kFields{
    FieldRule{.name = "model"},
    FieldRule{.name = "prompt"},
    FieldRule{.name = "max_tokens"},
    FieldRule{.name = "temperature"},
    FieldRule{.name = "top_p"},
    FieldRule{.name = "presence_penalty"},
    FieldRule{.name = "frequency_penalty"},
    FieldRule{.name = "logit_bias"},
    FieldRule{.name = "logprobs"},
    FieldRule{.name = "seed"},
    FieldRule{.name = "stop"},
    FieldRule{.name = "stream"},
    FieldRule{.name = "stream_options"},
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
    FieldRule{.name = "response_format"},
    FieldRule{.name = "user", .use = FieldUse::ignored, .reason = "a label of the caller's"},
    FieldRule{.name = "n",
              .use = FieldUse::fixed,
              .values = "[1]",
              .reason = "must be 1: several choices are not supported"},
    FieldRule{.name = "best_of",
              .use = FieldUse::fixed,
              .values = "[1]",
              .reason = "must be 1: several choices are not supported"},
    FieldRule{.name = "echo",
              .use = FieldUse::fixed,
              .values = "[false]",
              .reason = "must be false: the prompt is not repeated"},
    FieldRule{.name = "suffix",
              .use = FieldUse::fixed,
              .values = R"([""])",
              .reason = "is not supported"},
};

// One prompt, alone or in an array.
void read_only_prompt(Fields& fields, text::PromptInput& input) {
  const json::value* value = fields.find("prompt");
  if (value == nullptr) return fields.refuse("prompt", "must be given");
  if (const auto* list = value->if_array(); list != nullptr && !list->empty()) {
    const json::value& first = list->front();
    if (first.is_string() || first.is_array()) {
      if (list->size() > 1) {
        return fields.refuse("prompt", fmt::format("must be one prompt, not {}", list->size()));
      }
      value = &first;
    }
  }
  if (auto read = read_prompt(fields, *value)) input = std::move(*read);
}

std::size_t count_characters(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}

// A token as OpenAI writes it here: its text, or its bytes if they are none.
std::string token_text(const text::PieceTable& pieces, TokenId token) {
  const std::string_view piece = pieces.raw(token);
  if (is_utf8(piece)) return std::string{piece};
  std::string text = "bytes:";
  for (const char c : piece) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

// The most likely tokens, and always the chosen one.
void append_top(wire::JsonWriter& json, const text::PieceTable& pieces, TokenId chosen,
                const stream::TokenLogprobs& logprobs) {
  json.begin_object();
  bool has_chosen = false;
  for (const auto& [token, logprob] : logprobs.top) {
    json.field(token_text(pieces, token), shown_logprob(logprob));
    has_chosen = has_chosen || token == chosen;
  }
  if (!has_chosen) json.field(token_text(pieces, chosen), shown_logprob(logprobs.chosen));
  json.end_object();
}

// The value of "logprobs". Tokens that end a generation are left out.
void append_logprobs(wire::JsonWriter& json, const text::PieceTable& pieces,
                     const stream::TokenLog& log, Offset from, Offset to,
                     CharacterCount& characters) {
  const auto for_each = [&](auto append) {
    for (Offset at = from; at < to; at = at + 1) {
      if (pieces.kind(log.token(at)) != text::PieceKind::end) append(at);
    }
  };
  json.begin_object().key("tokens").begin_array();
  for_each([&](Offset at) { json.value(token_text(pieces, log.token(at))); });
  json.end_array().key("token_logprobs").begin_array();
  for_each([&](Offset at) { json.value(shown_logprob(log.logprobs(at).chosen)); });
  json.end_array().key("top_logprobs").begin_array();
  for_each([&](Offset at) { append_top(json, pieces, log.token(at), log.logprobs(at)); });
  json.end_array().key("text_offset").begin_array();
  for_each([&](Offset at) { json.value(characters.before(log, at)); });
  json.end_array().end_object();
}

}  // namespace

std::span<const FieldRule> completion_fields() {
  return kFields;
}

Parsed<CompletionRequest> parse_completion(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  Fields fields{*object};
  fields.check(kFields);
  CompletionRequest completion;
  core::GenerateRequest& request = completion.request;
  read_model(fields, request);
  read_only_prompt(fields, request.input);
  const auto max = fields.integer("max_tokens", 1, kTokensMax).value_or(kCompletionTokensDefault);
  request.max_tokens = static_cast<std::uint32_t>(max);
  read_sampling(fields, request.sampling);
  read_seed(fields, request);
  read_overflow(fields, request);
  read_parent(fields, request);
  read_text_options(fields, request.text);
  read_urgency(fields, request);
  read_response_format(fields, request);
  if (const auto top = fields.integer("logprobs", 0, kCompletionLogprobsMax)) {
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = static_cast<std::uint32_t>(*top);
  }
  const StreamOptions options = read_stream_options(fields);
  completion.options = {.stream = options.stream,
                        .include_usage = options.include_usage,
                        .logprobs = request.sampling.logprobs};
  request.surface = core::Surface::completions;
  request.include_usage = options.include_usage;
  if (!fields.ok()) return std::unexpected(*fields.problem());
  return completion;
}

std::uint64_t CharacterCount::before(const stream::TokenLog& log, Offset at) {
  if (at < at_) *this = {};
  std::string spill;
  count_ += count_characters(log.text(at_, at, spill));
  at_ = at;
  return count_;
}

CompletionSseView::CompletionSseView(const AnswerHead& head, const CompletionOptions& options,
                                     BodyFraming framing)
    : events_(head, {.id_prefix = "cmpl-",
                     .object = "text_completion",
                     .include_usage = options.include_usage}),
      framing_(framing),
      pieces_(head.pieces),
      logprobs_(options.logprobs && head.pieces != nullptr) {}

Rendered CompletionSseView::render(const stream::TokenLog& log, stream::Cursor& cursor,
                                   std::string& out, std::size_t bytes_max) {
  const std::size_t token_bytes = logprobs_ ? logprob_bytes(log, cursor.next) : 0;
  return render_events(
      log, cursor, out, framing_, bytes_max, token_bytes,
      [&](Offset from, Offset to) { append_text(log, from, to, out); },
      [&] { append_end(log.terminal(), out); });
}

void CompletionSseView::append_text(const stream::TokenLog& log, Offset from, Offset to,
                                    std::string& out) {
  std::string spill;
  const std::string_view text = log.text(from, to, spill);
  if (text.empty() && !logprobs_) return;
  events_.begin(to, out);
  wire::JsonWriter json{out};
  json.begin_object().field("index", 0).field("text", text).key("logprobs");
  if (logprobs_) {
    append_logprobs(json, *pieces_, log, from, to, characters_);
  } else {
    json.null();
  }
  json.key("finish_reason").null().end_object();
  events_.end(out);
}

void CompletionSseView::append_end(const stream::Terminal& terminal, std::string& out) const {
  const auto reason = finish_reason(terminal.reason);
  if (!reason) return events_.append_failure(terminal, out);
  events_.begin(Offset{terminal.usage.completion_tokens}, out);
  out += R"({"index":0,"text":"","logprobs":null,"finish_reason":")";
  out += *reason;
  out += "\"}";
  events_.end(out);
  events_.append_done(terminal, out);
}

HttpAnswer completion_answer(const AnswerHead& head, const CompletionOptions& options,
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
  append_head(json, head, "cmpl-", "text_completion");
  json.key("choices").begin_array().begin_object().field("index", 0).field("text", text);
  json.key("logprobs");
  if (options.logprobs && head.pieces != nullptr) {
    CharacterCount characters;
    append_logprobs(json, *head.pieces, log, {}, end, characters);
  } else {
    json.null();
  }
  json.field("finish_reason", *reason).end_object().end_array().key("usage");
  append_usage(json, terminal.usage);
  json.end_object();
  return answer;
}

}  // namespace seedance::api
