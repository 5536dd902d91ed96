// Server-sent events in pieces of a response body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/answer.h"
#include "api/delivery.h"
#include "api/openai.h"
#include "base/check.h"
#include "base/id.h"
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

// The `id:` lines of one stream's events: api/event_id.h.
class EventIds {
 public:
  EventIds(StreamId stream, Epoch epoch);

  // A client that got this event has all tokens before `next`.
  void append(Offset next, std::string& out) const;

 private:
  std::string prefix_;
};

// One piece of the body with what lies between cursor and head.
// `append_chunk(from, to)` appends events, maybe none; `append_end()` the last
// ones; `token_bytes` is what a token takes in a chunk beside its text. Stops
// behind the event with which `out` has grown by `bytes_max` or more; sets
// cursor.done with the end of the body.
template <typename AppendChunk, typename AppendEnd>
Rendered render_events(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                       BodyFraming framing, std::size_t bytes_max, std::size_t token_bytes,
                       AppendChunk append_chunk, AppendEnd append_end) {
  Rendered rendered;
  if (cursor.done) return rendered;
  const stream::Head head = log.head();
  SEEDANCE_CHECK(cursor.next <= head.end, "a cursor is never beyond the head");
  const std::size_t begin = out.size();
  BodyPiece piece{out, framing};
  do {
    if (cursor.next < head.end) {
      const Offset to = cut(log, cursor.next, head.end, bytes_max, token_bytes);
      append_chunk(cursor.next, to);
      rendered.add(cursor.next, to);
      cursor.next = to;
    } else if (head.done) {
      append_end();
      cursor.done = rendered.done = true;
    } else {
      break;
    }
  } while (!cursor.done && (out.size() == begin || out.size() - begin < bytes_max));
  piece.close();
  if (cursor.done && framing == BodyFraming::chunked) out += wire::kLastChunk;
  return rendered;
}

// The events of one answer in OpenAI's shape: what is the same in each, and how
// they end.
class SseEvents {
 public:
  struct Shape {
    std::string_view id_prefix;
    std::string_view object;
    bool include_usage = false;
  };

  SseEvents(const AnswerHead& head, const Shape& shape);

  // Around the one choice of an event, whose client then has all before `next`.
  void begin(Offset next, std::string& out) const;
  void end(std::string& out) const { out += end_; }

  // What follows the event with the finish_reason: usage if asked for, [DONE].
  void append_done(const stream::Terminal& terminal, std::string& out) const;

  // The only ending of a stream that failed.
  void append_failure(const stream::Terminal& terminal, std::string& out) const;

 private:
  EventIds ids_;
  std::string begin_;
  std::string_view end_;
  bool include_usage_;
};

}  // namespace seedance::api
