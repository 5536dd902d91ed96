// POST /v1/completions: OpenAI's legacy text completions.
#pragma once

#include <cstddef>
#include <cstdint>
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

inline constexpr std::uint32_t kCompletionTokensDefault = 16;
inline constexpr std::uint32_t kCompletionLogprobsMax = 5;

struct CompletionOptions {
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;

  friend bool operator==(const CompletionOptions&, const CompletionOptions&) = default;
};

struct CompletionRequest {
  core::GenerateRequest request;
  CompletionOptions options;
};

// Reads a request's body, whose size the caller bounds.
Parsed<CompletionRequest> parse_completion(std::string_view body);

// The fields of a request and what becomes of each.
std::span<const FieldRule> completion_fields();

// Characters (code points) of the text before a token, which text_offset counts.
// Remembers the last answer, so that the text is not read again from its
// beginning for every chunk.
class CharacterCount {
 public:
  std::uint64_t before(const stream::TokenLog& log, Offset at);

 private:
  Offset at_;
  std::uint64_t count_ = 0;
};

// One stream as text_completion events; see ChatSseView, whose protocol it has,
// but for the role.
class CompletionSseView {
 public:
  CompletionSseView(const AnswerHead& head, const CompletionOptions& options, BodyFraming framing);

  Rendered render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                  std::size_t bytes_max);

 private:
  void append_text(const stream::TokenLog& log, Offset from, Offset to, std::string& out);
  void append_end(const stream::Terminal& terminal, std::string& out) const;

  SseEvents events_;
  BodyFraming framing_;
  std::shared_ptr<const text::PieceTable> pieces_;  // Shared as in AnswerHead.
  bool logprobs_;
  CharacterCount characters_;
};

// The whole response to a request without `stream`, from a log that is done.
HttpAnswer completion_answer(const AnswerHead& head, const CompletionOptions& options,
                             const stream::TokenLog& log);

}  // namespace seedance::api
