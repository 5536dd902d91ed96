#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "api/answer.h"
#include "api/native.h"
#include "base/check.h"
#include "wire/fm.h"
#include "wire/json.h"
#include "wire/ws_frame.h"

namespace seedance::api {
namespace {

constexpr std::size_t kBinaryTokensMax = 256;  // In one frame, so that they fit the stack.

// Appends one frame: construct, append the payload to `out`, close().
class Frame {
 public:
  Frame(std::string& out, wire::Opcode opcode) : out_(out), begin_(out.size()), opcode_(opcode) {}

  void close() {
    std::string header;  // Short enough to need no allocation.
    wire::append_frame_header(header, opcode_, wire::Fin::yes, out_.size() - begin_);
    out_.insert(begin_, header);
  }

 private:
  std::string& out_;
  std::size_t begin_;
  wire::Opcode opcode_;
};

// Microseconds are as fine as anybody reads.
double shown_ms(Duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::microseconds>(duration).count()) / 1e3;
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

// About what one token takes in a chunk beside its text.
std::size_t bytes_per_token(Subprotocol subprotocol, ChunkExtras with, const stream::TokenLog& log,
                            Offset at) {
  if (subprotocol == Subprotocol::binary) {
    return (with.tokens ? sizeof(std::int32_t) : 0) + (with.logprobs ? sizeof(float) : 0);
  }
  std::size_t bytes = (with.tokens ? 8 : 0) + (with.time ? 12 : 0);
  if (with.logprobs) bytes += 40 + 40 * log.logprobs(at).top.size();
  return bytes;
}

}  // namespace

void append_accepted(std::string& out, std::string_view id, std::uint32_t channel,
                     const core::Accepted& accepted) {
  Frame frame{out, wire::Opcode::text};
  wire::JsonWriter{out}
      .begin_object()
      .field("type", "ACCEPTED")
      .field("id", id)
      .field("stream", to_text(accepted.stream))
      .field("epoch", accepted.epoch.value)
      .field("channel", channel)
      .field("attached", false)
      .field("model", accepted.model)
      .field("prompt_tokens", accepted.prompt_tokens)
      .field("queue", accepted.queue)
      .end_object();
  frame.close();
}

void append_error(std::string& out, std::string_view id, std::optional<StreamId> stream,
                  const Problem& problem) {
  Frame frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object().field("type", "ERROR");
  if (!id.empty()) json.field("id", id);
  if (stream) json.field("stream", to_text(*stream));
  append_problem(json, problem);
  json.end_object();
  frame.close();
}

void append_pong(std::string& out, const Ping& ping, WallTime now) {
  Frame frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object().field("type", "PONG");
  if (ping.ts) json.field("ts", *ping.ts);
  const auto since_1970 = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch());
  json.field("server_ts", since_1970.count()).end_object();
  frame.close();
}

NativeView::NativeView(Subprotocol subprotocol, std::string id, std::uint32_t channel,
                       ChunkExtras with)
    : id_(std::move(id)), channel_(channel), subprotocol_(subprotocol), with_(with) {}

void NativeView::render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                        std::size_t bytes_max) const {
  const stream::Head head = log.head();
  SEEDANCE_CHECK(cursor.next <= head.end, "a cursor is never beyond the head");
  const std::size_t begin = out.size();
  do {
    if (cursor.done) return;
    if (cursor.next < head.end) {
      const std::size_t left = bytes_max - std::min(bytes_max, out.size() - begin);
      const std::size_t token_bytes = bytes_per_token(subprotocol_, with_, log, cursor.next);
      Offset to = cut(log, cursor.next, head.end, left, token_bytes);
      if (subprotocol_ == Subprotocol::binary) {
        to = std::min(to, cursor.next + kBinaryTokensMax);
        append_binary_chunk(log, cursor.next, to, out);
      } else {
        append_json_chunk(log, cursor.next, to, out);
      }
      cursor.next = to;
    } else if (head.done) {
      append_done(log, out);
      cursor.done = true;
    } else {
      return;
    }
  } while (out.size() - begin < bytes_max);
}

void NativeView::append_json_chunk(const stream::TokenLog& log, Offset from, Offset to,
                                   std::string& out) const {
  std::string text;  // Of one token it is short enough to need no allocation.
  log.append_text(from, to, text);
  Frame frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object()
      .field("type", "INFER_CHUNK")
      .field("id", id_)
      .field("seq", from.value)
      .field("n", to.value - from.value)
      .field("text", text);
  if (with_.tokens) append_tokens(json, log, from, to);
  if (with_.logprobs) append_logprobs(json, log, from, to);
  if (with_.time) append_times(json, log, from, to);
  json.end_object();
  frame.close();
}

void NativeView::append_binary_chunk(const stream::TokenLog& log, Offset from, Offset to,
                                     std::string& out) const {
  const std::size_t count = to.value - from.value;
  std::array<TokenId, kBinaryTokensMax> ids;
  std::array<float, kBinaryTokensMax> logprobs;
  for (std::size_t i = 0; i < count; ++i) {
    if (with_.tokens) ids.at(i) = log.token(from + i);
    if (with_.logprobs) logprobs.at(i) = shown_logprob(log.logprobs(from + i).chosen);
  }
  std::string text;
  log.append_text(from, to, text);
  const wire::FmChunk chunk{
      .channel = channel_,
      .seq = static_cast<std::uint32_t>(from.value),
      .tokens = static_cast<std::uint16_t>(count),
      .marks = {},
      .ids = std::span{ids}.first(with_.tokens ? count : 0),
      .logprobs = std::span{logprobs}.first(with_.logprobs ? count : 0),
      .text = text,
  };
  wire::append_frame_header(out, wire::Opcode::binary, wire::Fin::yes, wire::fm_bytes(chunk));
  wire::append_fm(out, chunk);
}

void NativeView::append_done(const stream::TokenLog& log, std::string& out) const {
  const stream::Terminal& terminal = log.terminal();
  const std::uint64_t total = log.head().end.value;
  if (subprotocol_ == Subprotocol::binary) {
    const bool failed = terminal.problem.has_value();
    const wire::FmChunk chunk{.channel = channel_,
                              .seq = static_cast<std::uint32_t>(total),
                              .tokens = 0,
                              .marks = {.final = true, .usage = true, .error = failed},
                              .ids = {},
                              .logprobs = {},
                              .text = {}};
    wire::append_frame_header(out, wire::Opcode::binary, wire::Fin::yes, wire::fm_bytes(chunk));
    wire::append_fm(out, chunk);
  }
  Frame frame{out, wire::Opcode::text};
  wire::JsonWriter json{out};
  json.begin_object()
      .field("type", "INFER_DONE")
      .field("id", id_)
      .field("seq", total)
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
  frame.close();
}

}  // namespace seedance::api
