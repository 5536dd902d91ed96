#include "api/answer.h"

#include <algorithm>
#include <cstdint>

namespace seedance::api {

Offset cut(const stream::TokenLog& log, Offset from, Offset end, std::size_t bytes_max,
           std::size_t token_bytes) {
  if (end <= from + 1) return end;
  const auto bytes = [&](Offset to) {
    return log.text_end(to) - log.text_end(from) + (to.value - from.value) * token_bytes;
  };
  if (bytes(end) <= bytes_max) return end;
  // Sizes grow with the offset: halve.
  Offset fits = from + 1;
  while (fits + 1 < end) {
    const Offset middle{fits.value + (end.value - fits.value) / 2};
    if (bytes(middle) <= bytes_max) {
      fits = middle;
    } else {
      end = middle;
    }
  }
  return fits;
}

std::size_t logprob_bytes(const stream::TokenLog& log, Offset at) {
  constexpr std::size_t kCandidateBytes = 128;
  if (at >= log.head().end) return 0;
  return kCandidateBytes * (1 + log.logprobs(at).top.size());
}

float shown_logprob(float logprob) {
  constexpr float kImpossible = -9999.0F;
  return logprob > kImpossible ? logprob : kImpossible;  // NaN too.
}

void append_usage(wire::JsonWriter& json, const stream::Usage& usage) {
  json.begin_object()
      .field("prompt_tokens", usage.prompt_tokens)
      .field("completion_tokens", usage.completion_tokens)
      .field("total_tokens", std::uint64_t{usage.prompt_tokens} + usage.completion_tokens)
      .key("prompt_tokens_details")
      .begin_object()
      .field("cached_tokens", usage.cached_tokens);
  if (usage.dropped_tokens > 0) json.field("dropped_tokens", usage.dropped_tokens);
  json.end_object().end_object();
}

}  // namespace seedance::api
