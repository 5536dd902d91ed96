#include <algorithm>
#include <array>
#include <utility>

#include "api/answer.h"
#include "api/native.h"
#include "api/native_json.h"
#include "base/check.h"
#include "wire/fm.h"
#include "wire/json.h"
#include "wire/ws_frame.h"

namespace seedance::api {
namespace {

constexpr std::size_t kBinaryTokensMax = 256;  // In one frame, so that they fit the stack.

// About what one token takes in a chunk beside its text.
std::size_t bytes_per_token(Subprotocol subprotocol, ChunkExtras with, const stream::TokenLog& log,
                            Offset at) {
  if (subprotocol == Subprotocol::json) return chunk_token_bytes(with, log, at);
  return (with.tokens ? sizeof(std::int32_t) : 0) + (with.logprobs ? sizeof(float) : 0);
}

}  // namespace

NativeView::NativeView(Subprotocol subprotocol, std::string id, std::uint32_t channel,
                       ChunkExtras with)
    : id_(std::move(id)), channel_(channel), subprotocol_(subprotocol), with_(with) {
  std::string spill;
  if (wire::json_text(id_, spill) != id_) json_id_ = std::move(spill);
}

Rendered NativeView::render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                            std::size_t bytes_max) {
  Rendered rendered;
  const auto [head, text_end] = log.shown();
  SEEDANCE_CHECK(cursor.next <= head.end, "a cursor is never beyond the head");
  const std::size_t begin = out.size();
  do {
    if (cursor.done) break;
    if (cursor.next < head.end) {
      Offset to = head.end;
      if (to > cursor.next + 1) {
        const std::size_t left = bytes_max - std::min(bytes_max, out.size() - begin);
        const std::size_t token_bytes = bytes_per_token(subprotocol_, with_, log, cursor.next);
        to = cut(log, cursor.next, to, left, token_bytes);
      }
      if (subprotocol_ == Subprotocol::binary) to = std::min(to, cursor.next + kBinaryTokensMax);
      const std::uint64_t from_byte =
          told_.at == cursor.next ? told_.text_end : log.text_end(cursor.next);
      told_ = {.at = to, .text_end = to == head.end ? text_end : log.text_end(to)};
      std::string spill;
      const Chunk chunk{
          .from = cursor.next, .to = to, .text = log.text_bytes(from_byte, told_.text_end, spill)};
      if (subprotocol_ == Subprotocol::binary) {
        append_binary_chunk(log, chunk, out);
      } else {
        append_json_chunk(log, chunk, out);
      }
      rendered.add(cursor.next, to);
      cursor.next = to;
    } else if (head.done) {
      append_done(log, out);
      cursor.done = rendered.done = true;
    } else {
      break;
    }
  } while (out.size() - begin < bytes_max);
  return rendered;
}

void NativeView::append_json_chunk(const stream::TokenLog& log, const Chunk& chunk,
                                   std::string& out) const {
  FrameWriter frame{out, wire::Opcode::text};
  append_chunk_json(out, json_id_.empty() ? id_ : json_id_, with_, log, chunk);
  frame.close();
}

void NativeView::append_binary_chunk(const stream::TokenLog& log, const Chunk& chunk,
                                     std::string& out) const {
  const std::size_t count = chunk.to.value - chunk.from.value;
  std::array<TokenId, kBinaryTokensMax> ids;
  std::array<float, kBinaryTokensMax> logprobs;
  for (std::size_t i = 0; i < count; ++i) {
    if (with_.tokens) ids.at(i) = log.token(chunk.from + i);
    if (with_.logprobs) logprobs.at(i) = shown_logprob(log.logprobs(chunk.from + i).chosen);
  }
  const wire::FmChunk message{
      .channel = channel_,
      .seq = static_cast<std::uint32_t>(chunk.from.value),
      .tokens = static_cast<std::uint16_t>(count),
      .marks = {},
      .ids = std::span{ids}.first(with_.tokens ? count : 0),
      .logprobs = std::span{logprobs}.first(with_.logprobs ? count : 0),
      .text = chunk.text,
  };
  wire::append_frame_header(out, wire::Opcode::binary, wire::Fin::yes, wire::fm_bytes(message));
  wire::append_fm(out, message);
}

void NativeView::append_done(const stream::TokenLog& log, std::string& out) const {
  if (subprotocol_ == Subprotocol::binary) {
    const bool failed = log.terminal().problem.has_value();
    const wire::FmChunk chunk{.channel = channel_,
                              .seq = static_cast<std::uint32_t>(log.head().end.value),
                              .tokens = 0,
                              .marks = {.final = true, .usage = true, .error = failed},
                              .ids = {},
                              .logprobs = {},
                              .text = {}};
    wire::append_frame_header(out, wire::Opcode::binary, wire::Fin::yes, wire::fm_bytes(chunk));
    wire::append_fm(out, chunk);
  }
  FrameWriter frame{out, wire::Opcode::text};
  append_done_json(out, id_, log);
  frame.close();
}

}  // namespace seedance::api
