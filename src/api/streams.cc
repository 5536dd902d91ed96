#include "api/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "api/event_id.h"
#include "wire/json.h"

namespace seedance::api {
namespace {

constexpr std::string_view kLastEventId = "Last-Event-ID";
constexpr std::size_t kQuotedNameMax = 64;

Problem refusal(std::string_view param, std::string_view what) {
  const std::string_view quoted = param.substr(0, kQuotedNameMax);
  return {.code = ErrorCode::invalid_request,
          .message = fmt::format("\"{}\" {}.", quoted, what),
          .param = std::string{quoted}};
}

// The text up to `end`, which is taken off with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::optional<Problem> read_as(std::string_view value, StreamQuery& query) {
  constexpr std::array kSurfaces{std::pair{"native", core::Surface::native},
                                 std::pair{"chat", core::Surface::chat},
                                 std::pair{"completions", core::Surface::completions}};
  for (const auto& [name, surface] : kSurfaces) {
    if (value == name) return query.as = surface, std::nullopt;
  }
  return refusal("as", "must be native, chat or completions");
}

std::optional<Problem> read_with(std::string_view value, StreamQuery& query) {
  while (!value.empty()) {
    const std::string_view name = take_until(value, ',');
    if (name == "tokens") {
      query.with.tokens = true;
    } else if (name == "logprobs") {
      query.with.logprobs = true;
    } else if (name == "time") {
      query.with.time = true;
    } else {
      return refusal("with", "must be a list of tokens, logprobs and time, parted by commas");
    }
  }
  return std::nullopt;
}

std::optional<Problem> read_parameter(std::string_view name, std::string_view value,
                                      StreamQuery& query) {
  if (name == "as") return read_as(value, query);
  if (name == "with") return read_with(value, query);
  const auto number = parse_number(value);
  if (name == "from") {
    if (!number) return refusal(name, "must be a number of tokens");
    query.from = Offset{*number};
    return std::nullopt;
  }
  if (name == "epoch") {
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
      return refusal(name, "must be an epoch: a number below 2^32");
    }
    query.epoch = Epoch{static_cast<std::uint32_t>(*number)};
    return std::nullopt;
  }
  return refusal(name, "is unknown");
}

void append_summary(wire::JsonWriter& json, const core::StreamSummary& stream) {
  json.begin_object()
      .field("stream", to_text(stream.stream))
      .field("object", "stream")
      .field("epoch", stream.epoch.value)
      .field("state", core::name(stream.state))
      .field("model", stream.model)
      .field("created", to_seconds(stream.created))
      .key("expires_at");
  if (stream.expires_at) {
    json.value(to_seconds(*stream.expires_at));
  } else {
    json.null();
  }
  json.field("prompt_tokens", stream.prompt_tokens)
      .field("tokens", stream.tokens)
      .key("finish_reason");
  if (stream.finish_reason) {
    json.value(stream::name(*stream.finish_reason));
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

Parsed<StreamQuery> parse_stream_query(StreamId stream, std::string_view query,
                                       std::string_view last_event_id) {
  StreamQuery parsed;
  while (!query.empty()) {
    std::string_view parameter = take_until(query, '&');
    if (parameter.empty()) continue;
    const auto name = percent_decoded(take_until(parameter, '='));
    const auto value = percent_decoded(parameter);
    if (!name || !value) {
      return std::unexpected(Problem{.code = ErrorCode::invalid_request,
                                     .message = "The query is not percent-encoded."});
    }
    if (auto problem = read_parameter(*name, *value, parsed)) {
      return std::unexpected(*std::move(problem));
    }
  }
  if (!last_event_id.empty()) {
    const auto id = parse_event_id(last_event_id);
    if (!id) return std::unexpected(refusal(kLastEventId, "must be the id of an event"));
    if (id->stream != stream) return std::unexpected(refusal(kLastEventId, "is of another stream"));
    parsed.from = id->next;
    parsed.epoch = id->epoch;
  } else if (parsed.from > Offset{0} && !parsed.epoch) {
    return std::unexpected(refusal("epoch", "must be given when \"from\" is not 0"));
  }
  return parsed;
}

std::optional<Problem> why_not_shown(const StreamQuery& query, const core::Resumed& resumed) {
  if (query.with == ChunkExtras{}) return std::nullopt;
  if (query.as.value_or(resumed.stream.surface) != core::Surface::native) {
    return refusal("with", "is of native messages: this stream is shown in OpenAI's");
  }
  if (query.with.logprobs && !resumed.stream.log->with_logprobs()) {
    return refusal("with", "cannot have logprobs: the stream was not asked for them");
  }
  return std::nullopt;
}

HttpAnswer streams_answer(const core::StreamList& list) {
  HttpAnswer answer;
  wire::JsonWriter json{answer.body};
  json.begin_object().field("object", "list").key("data").begin_array();
  for (const core::StreamSummary& stream : list.streams) append_summary(json, stream);
  json.end_array().end_object();
  return answer;
}

HttpAnswer cancelled_answer(StreamId stream) {
  HttpAnswer answer;
  wire::JsonWriter{answer.body}
      .begin_object()
      .field("stream", to_text(stream))
      .field("object", "stream.cancelled")
      .end_object();
  return answer;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace seedance::api
