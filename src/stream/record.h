// What a log holds: the tokens of a step, and the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_code.h"
#include "base/id.h"
#include "base/time.h"

namespace seedance::stream {

// Log-probability of a candidate, natural logarithm, over the model's whole
// distribution before any sampling parameter.
struct Candidate {
  TokenId token;
  float logprob = 0;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

struct TokenLogprobs {
  float chosen = 0;
  std::vector<Candidate> top;  // Best first; as many as were asked for.

  friend bool operator==(const TokenLogprobs&, const TokenLogprobs&) = default;
};

enum class FinishReason : std::uint8_t {
  stop,
  length,
  tool_calls,
  content_filter,
  cancelled,
  error,
};

std::string_view name(FinishReason reason);

struct Usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t completion_tokens = 0;  // The length of the log.
  std::uint32_t cached_tokens = 0;      // Of the prompt: the engine had them computed before.
  // Left out of the prompt before it was counted, or of prompt and answer while it went on.
  std::uint32_t dropped_tokens = 0;

  friend bool operator==(const Usage&, const Usage&) = default;
};

struct Timing {
  Duration queue{};    // Accepted until its prefill began.
  Duration prefill{};  // Until the first token was sampled, in the engine.
  Duration ttft{};     // Accepted until the first token was committed.
  Duration decode{};   // First until last token.

  friend bool operator==(const Timing&, const Timing&) = default;
};

using Sha256 = std::array<std::uint8_t, 32>;

// The one ending of a stream.
struct Terminal {
  FinishReason reason = FinishReason::stop;
  Usage usage = {};
  Timing timing = {};
  Sha256 sha256 = {};                   // Of the whole visible text.
  std::optional<Problem> problem = {};  // Exactly when reason is error.

  friend bool operator==(const Terminal&, const Terminal&) = default;
};

}  // namespace seedance::stream
