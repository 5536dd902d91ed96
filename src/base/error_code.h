// The error codes that clients see: one table for every surface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seedance {

enum class ErrorCode : std::uint8_t {
  invalid_request,
  unauthenticated,
  permission_denied,
  model_not_found,
  model_loading,
  context_length_exceeded,
  rate_limited,
  overloaded,
  deadline_exceeded,
  stream_not_found,
  stream_expired,
  cursor_ahead,
  epoch_mismatch,
  idempotency_mismatch,
  stream_limit,
  connection_limit,
  payload_too_large,
  protocol_error,
  engine_failed,
  cancelled,
  internal,
};

inline constexpr std::size_t kErrorCodeCount = 21;

// What a code means on each surface.
struct ErrorTraits {
  std::string_view name;         // As clients see it; never changes.
  std::uint16_t http_status;     // Before a response has begun.
  std::string_view openai_type;  // `error.type` of OpenAI-shaped bodies.
  std::uint16_t close_code;      // WebSocket close code when it ends a connection; 0 = never does.
  bool retryable;                // The same request may succeed later.
};

const ErrorTraits& traits(ErrorCode code);
inline std::string_view name(ErrorCode code) {
  return traits(code).name;
}

// A refusal, or the reason that a stream ended with. The numbers that explain
// it stand in `message` and, for programs, in `numbers`.
struct Problem {
  struct Number {
    std::string key;
    std::int64_t value = 0;
    friend bool operator==(const Number&, const Number&) = default;
  };

  ErrorCode code = ErrorCode::internal;
  std::string message;     // One sentence: what was wrong and what to do.
  std::string param = {};  // The request field at fault, if one is.
  std::vector<Number> numbers = {};
  std::uint32_t retry_after_ms = 0;  // 0 = not said.

  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace seedance
