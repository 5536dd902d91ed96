#include "api/native_json.h"

#include <charconv>
#include <chrono>
#include <cstring>

#include "api/answer.h"
#include "wire/json.h"

namespace seedance::api {
namespace {

// Microseconds are as fine as anybody reads.
double shown_ms(Duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::microseconds>(duration).count()) / 1e3;
}

std::int64_t to_ms_since_1970(WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

void append_problem(wire::JsonWriter& json, const Problem& problem) {
  json.field("code", name(problem.code))
      .field("message", problem.message)
      .field("retryable", traits(problem.code).retryable);
  if (!problem.param.empty()) json.field("param", problem.param);
  if (problem.retry_after_ms != 0) json.field("retry_after_ms", problem.retry_after_ms);
  if (problem.numbers.empty()) return;
  json.key("numbers").begin_object();
  for (const auto& [key, value] : problem.numbers) json.field(key, value);
  json.end_object();
}

void append_dropped(wire::JsonWriter& json, const text::Dropped& dropped) {
  if (dropped == text::Dropped{}) return;
  json.key("dropped")
      .begin_object()
      .field("messages", dropped.messages)
      .field("tokens", dropped.tokens)
      .end_object();
}

void append_tokens(wire::JsonWriter& json, const stream::TokenLog& log, Offset from, Offset to) {
  json.key("tokens").begin_array();
  for (Offset at = from; at < to; at = at + 1) json.value(log.token(at).value);
  json.end_array();
}

void append_logprobs(wire::JsonWriter& json, const stream::TokenLog& log, Offset from, Offset to) {
  json.key("logprobs").begin_array();
  for (Offset at = from; at < to; at = at + 1) {
    const stream::TokenLogprobs& logprobs = log.logprobs(at);
    json.begin_object().field("logprob", shown_logprob(logprobs.chosen)).key("top").begin_array();
    for (const auto& [token, logprob] : logprobs.top) {
      json.begin_object()
          .field("token", token.value)
          .field("logprob", shown_logprob(logprob))
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

// Milliseconds since the first token of the stream was committed.
void append_times(wire::JsonWriter& json, const stream::TokenLog& log, Offset from, Offset to) {
  const TimePoint first = log.time(Offset{0});
  json.key("time").begin_array();
  for (Offset at = from; at < to; at = at + 1) json.value(shown_ms(log.time(at) - first));
  json.end_array();
}

std::string to_hex(const stream::Sha256& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * hash.size());
  for (const std::uint8_t byte : hash) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

FrameWriter::FrameWriter(std::string& out, wire::Opcode opcode)
    : out_(out), begin_(out.size()), opcode_(opcode) {
  out_.append(kRoom, '\0');
}

void FrameWriter::close() {
  char header[wire::kFrameHeaderMax];
  const std::size_t payload_bytes = out_.size() - begin_ - kRoom;
  const std::size_t size = wire::write_frame_header(header, opcode_, wire::Fin::yes, payload_bytes);
  if (size > kRoom) out_.insert(begin_, size - kRoom, '\0');
  std::memcpy(&out_[begin_], header, size);
}

std::size_t chunk_token_bytes(ChunkExtras with, const stream::TokenLog& log, Offset at) {
  std::size_t bytes = (with.tokens ? 8 : 0) + (with.time ? 12 : 0);
  if (with.logprobs) bytes += 40 + 40 * log.logprobs(at).top.size();
  return bytes;
}

// Once for each chunk and so the hottest of all: written in one go.
void append_chunk_json(std::string& out, std::string_view json_id, ChunkExtras with,
                       const stream::TokenLog& log, Offset from, Offset to) {
  constexpr std::size_t kFixedBytes = 128;  // Of keys and numbers, and more.
  std::string spill;
  std::string escapes;
  const std::string_view text = wire::json_text(log.text(from, to, spill), escapes);
  const bool ends = with == ChunkExtras{};
  const std::size_t begin = out.size();
  const auto write = [&](char* data, std::size_t size) {
    char* at = data + begin;
    const auto put = [&](std::string_view piece) { at += piece.copy(at, piece.size()); };
    const auto put_number = [&](std::uint64_t n) { at = std::to_chars(at, data + size, n).ptr; };
    put(R"({"type":"INFER_CHUNK")");
    if (!json_id.empty()) {
      put(R"(,"id":")");
      put(json_id);
      put("\"");
    }
    put(R"(,"seq":)");
    put_number(from.value);
    put(R"(,"n":)");
    put_number(to.value - from.value);
    put(R"(,"text":")");
    put(text);
    put("\"");
    if (ends) put("}");
    return at - data;
  };
  out.resize_and_overwrite(begin + kFixedBytes + json_id.size() + text.size(), write);
  if (ends) return;
  wire::JsonWriter json = wire::JsonWriter::within(out);
  if (with.tokens) append_tokens(json, log, from, to);
  if (with.logprobs) append_logprobs(json, log, from, to);
  if (with.time) append_times(json, log, from, to);
  json.end_object();
}

void append_done_json(std::string& out, std::string_view id, const stream::TokenLog& log) {
  const stream::Terminal& terminal = log.terminal();
  wire::JsonWriter json{out};
  json.begin_object().field("type", "INFER_DONE");
  if (!id.empty()) json.field("id", id);
  json.field("seq", log.head().end.value)
      .field("finish_reason", name(terminal.reason))
      .key("usage");
  append_usage(json, terminal.usage);
  json.key("timing")
      .begin_object()
      .field("queue_ms", shown_ms(terminal.timing.queue))
      .field("prefill_ms", shown_ms(terminal.timing.prefill))
      .field("ttft_ms", shown_ms(terminal.timing.ttft))
      .field("decode_ms", shown_ms(terminal.timing.decode))
      .end_object()
      .field("sha256", to_hex(terminal.sha256));
  if (terminal.problem) {
    json.key("error").begin_object();
    append_problem(json, *terminal.problem);
    json.end_object();
  }
  json.end_object();
}

void append_resumed_json(std::string& out, const Addressee& to, const core::Resumed& resumed) {
  const core::Accepted& stream = resumed.stream;
  wire::JsonWriter json{out};
  json.begin_object().field("type", "RESUMED");
  if (!to.id.empty()) json.field("id", to.id);
  json.field("stream", to_text(stream.stream)).field("epoch", stream.epoch.value);
  if (to.channel) json.field("channel", *to.channel);
  json.field("from", resumed.from.value)
      .field("head", resumed.head.value)
      .field("state", core::name(resumed.state))
      .field("model", stream.model)
      .field("prompt_tokens", stream.prompt_tokens)
      .field("expires_at", to_ms_since_1970(stream.expires_at));
  append_dropped(json, stream.dropped);
  json.end_object();
}

void append_accepted(std::string& out, std::string_view id, std::uint32_t channel,
                     const core::Accepted& accepted) {
  FrameWriter frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object()
      .field("type", "ACCEPTED")
      .field("id", id)
      .field("stream", to_text(accepted.stream))
      .field("epoch", accepted.epoch.value)
      .field("channel", channel)
      .field("attached", accepted.attached)
      .field("model", accepted.model)
      .field("prompt_tokens", accepted.prompt_tokens)
      .field("queue", accepted.queue)
      .field("expires_at", to_ms_since_1970(accepted.expires_at));
  append_dropped(json, accepted.dropped);
  json.end_object();
  frame.close();
}

void append_resumed(std::string& out, std::string_view id, std::uint32_t channel,
                    const core::Resumed& resumed) {
  FrameWriter frame{out, wire::Opcode::text};
  append_resumed_json(out, {.id = id, .channel = channel}, resumed);
  frame.close();
}

void append_goaway(std::string& out, std::string_view reason, Duration reconnect_within) {
  FrameWriter frame{out, wire::Opcode::text};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(reconnect_within);
  wire::JsonWriter{out}
      .begin_object()
      .field("type", "GOAWAY")
      .field("reason", reason)
      .field("reconnect_within_ms", ms.count())
      .end_object();
  frame.close();
}

void append_error(std::string& out, std::string_view id, std::optional<StreamId> stream,
                  const Problem& problem) {
  FrameWriter frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object().field("type", "ERROR");
  if (!id.empty()) json.field("id", id);
  if (stream) json.field("stream", to_text(*stream));
  append_problem(json, problem);
  json.end_object();
  frame.close();
}

void append_pong(std::string& out, const Ping& ping, WallTime now) {
  FrameWriter frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object().field("type", "PONG");
  if (ping.ts) json.field("ts", *ping.ts);
  json.field("server_ts", to_ms_since_1970(now)).end_object();
  frame.close();
}

}  // namespace seedance::api
