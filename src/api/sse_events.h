// Server-sent events of OpenAI's shape, in pieces of a response body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/answer.h"
#include "api/openai.h"
#include "base/check.h"
#include "stream/token_log.h"
#include "wire/http.h"

namespace seedance::api {

// Appends one piece of a streamed body: construct, append to `out`, close(). A
// piece to which nothing was appended leaves nothing.
class BodyPiece {
 public:
  BodyPiece(std::string& out, BodyFraming framing)
      : out_(out), begin_(out.size()), framing_(framing) {}

  void close();

 private:
  std::string& out_;
  std::size_t begin_;
  BodyFraming framing_;
};

// The events of one answer: what is the same in each, and how they end.
class SseEvents {
 public:
  struct Shape {
    std::string_view id_prefix;
    std::string_view object;
    bool include_usage = false;
  };

  SseEvents(const AnswerHead& head, const Shape& shape, BodyFraming framing);

  // Around the one choice of an event.
  void begin(std::string& out) const { out += begin_; }
  void end(std::string& out) const { out += end_; }

  // What follows the event with the finish_reason: usage if asked for, [DONE].
  void append_done(const stream::Terminal& terminal, std::string& out) const;

  // The only ending of a stream that failed.
  static void append_error(const Problem& problem, std::string& out);

  // One piece of the body with what lies between cursor and head.
  // `append_chunk(from, to)` and `append_end()` append events, the former maybe
  // none; `token_bytes` is what a token takes in a chunk beside its text.
  template <typename AppendChunk, typename AppendEnd>
  void render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
              std::size_t bytes_max, std::size_t token_bytes, AppendChunk append_chunk,
              AppendEnd append_end) const;

 private:
  std::string begin_;
  std::string_view end_;
  bool include_usage_;
  BodyFraming framing_;
};

template <typename AppendChunk, typename AppendEnd>
void SseEvents::render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                       std::size_t bytes_max, std::size_t token_bytes, AppendChunk append_chunk,
                       AppendEnd append_end) const {
  if (cursor.done) return;
  const stream::Head head = log.head();
  SEEDANCE_CHECK(cursor.next <= head.end, "a cursor is never beyond the head");
  const std::size_t begin = out.size();
  BodyPiece piece{out, framing_};
  do {
    if (cursor.next < head.end) {
      const Offset to = cut(log, cursor.next, head.end, bytes_max, token_bytes);
      append_chunk(cursor.next, to);
      cursor.next = to;
    } else if (head.done) {
      append_end();
      cursor.done = true;
    } else {
      break;
    }
  } while (!cursor.done && (out.size() == begin || out.size() - begin < bytes_max));
  piece.close();
  if (cursor.done && framing_ == BodyFraming::chunked) out += wire::kLastChunk;
}

}  // namespace seedance::api
