// POST /v1/chat/completions: OpenAI's chat completions.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/delivery.h"
#include "api/openai.h"
#include "api/request.h"
#include "api/sse_events.h"
#include "core/messages.h"
#include "stream/token_log.h"

namespace seedance::api {

struct ChatOptions {
  bool stream = false;
  bool include_usage = false;  // One more chunk at the end, with the usage and without choices.
  bool logprobs = false;

  friend bool operator==(const ChatOptions&, const ChatOptions&) = default;
};

struct ChatRequest {
  core::GenerateRequest request;
  ChatOptions options;
};

// Reads a request's body, whose size the caller bounds.
Parsed<ChatRequest> parse_chat(std::string_view body);

// The fields of a request and what becomes of each.
std::span<const FieldRule> chat_fields();

// One stream as chat.completion.chunk events (server-sent events) in pieces of a
// response body. The first chunk of the stream has the role, the last one the
// finish_reason; then the usage if asked for, `[DONE]` and the end of the body. A
// stream that fails ends with an error event instead, without finish_reason and
// `[DONE]`. Every event has an id (api/event_id.h), with which a client may come
// back for what follows it.
//
// Owned by the connection that reads the stream; belongs to its thread.
class ChatSseView {
 public:
  ChatSseView(const AnswerHead& head, const ChatOptions& options, BodyFraming framing);

  // Appends what lies between cursor and head as one piece of the body and
  // moves the cursor behind it. Stops after the event with which `out` has
  // grown by `bytes_max` or more. Sets cursor.done with the end of the body.
  Rendered render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                  std::size_t bytes_max) const;

 private:
  void append_role(std::string& out) const;
  void append_delta(const stream::TokenLog& log, Offset from, Offset to, std::string& out) const;
  void append_end(const stream::Terminal& terminal, std::string& out) const;

  SseEvents events_;
  BodyFraming framing_;
  std::shared_ptr<const text::PieceTable> pieces_;  // Shared as in AnswerHead.
  bool logprobs_;
};

// The whole response to a request without `stream`, from a log that is done: a
// chat.completion, or an error body with its status.
HttpAnswer chat_answer(const AnswerHead& head, const ChatOptions& options,
                       const stream::TokenLog& log);

}  // namespace seedance::api
