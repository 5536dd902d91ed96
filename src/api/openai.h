// What OpenAI's endpoints have in common: error bodies, model list, names,
// response bodies that stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error_code.h"
#include "base/time.h"
#include "core/messages.h"
#include "stream/record.h"
#include "text/piece_table.h"
#include "wire/json.h"

namespace seedance::api {

// A whole response that is not streamed; its body is application/json.
struct HttpAnswer {
  int status = 200;
  std::string body;

  friend bool operator==(const HttpAnswer&, const HttpAnswer&) = default;
};

// {"error":{"message","type","param","code"}} with the status of its code.
HttpAnswer error_answer(const Problem& problem);

struct ModelEntry {
  std::string_view id;
  WallTime created;
};

// GET /v1/models, and GET /v1/models/{id} for one of them.
HttpAnswer models_answer(std::span<const ModelEntry> models);
HttpAnswer model_answer(const ModelEntry& model);

// How the end of a streamed body is marked.
enum class BodyFraming : std::uint8_t {
  chunked,      // Transfer-Encoding: chunked.
  until_close,  // HTTP/1.0 clients: the connection closes behind it.
};

// What is the same in every answer to one request.
struct AnswerHead {
  StreamId stream;
  Epoch epoch;
  std::string model;
  WallTime created;
  std::uint32_t prompt_tokens = 0;
  // Shared with the model's other streams, for logprobs, which are left out without it.
  std::shared_ptr<const text::PieceTable> pieces;

  explicit AnswerHead(const core::Accepted& accepted);
};

// Appends a comment line as one piece of a body, so that proxies see life while
// there are no tokens.
void append_keepalive(std::string& out, BodyFraming framing);

// Ends a body that ends before its stream does, with an event that says why.
void append_last_error(std::string& out, const Problem& problem, BodyFraming framing);

// For the views of this module.

// Seconds since 1970 UTC, as all of OpenAI's times are.
std::int64_t to_seconds(WallTime time);

// OpenAI's finish_reason; nothing for an ending that is an error there.
std::optional<std::string_view> finish_reason(stream::FinishReason reason);

// Why a stream without a finish_reason ended.
Problem failure(const stream::Terminal& terminal);

// Appends {"error":{...}}.
void append_error_object(std::string& out, const Problem& problem);

// Appends the first members of every object: id, object, created and model.
void append_head(wire::JsonWriter& json, const AnswerHead& head, std::string_view id_prefix,
                 std::string_view object);

}  // namespace seedance::api
