// Parts of answers that the views of several APIs share.
#pragma once

#include <cstddef>

#include "base/id.h"
#include "stream/record.h"
#include "stream/token_log.h"
#include "wire/json.h"

namespace seedance::api {

// The end of the longest chunk of tokens from `from` on, at most to `end`, whose
// text and `token_bytes` for every token are together at most `bytes_max`; one
// token if it alone is more. `from` is before `end`.
Offset cut(const stream::TokenLog& log, Offset from, Offset end, std::size_t bytes_max,
           std::size_t token_bytes);

// About what a token's logprobs take in OpenAI's shapes, for cut(); 0 when there
// is no token.
std::size_t logprob_bytes(const stream::TokenLog& log, Offset at);

// JSON has no infinity: an impossible token has -9999, as OpenAI says.
float shown_logprob(float logprob);

// Appends the value of "usage", in OpenAI's shape.
void append_usage(wire::JsonWriter& json, const stream::Usage& usage);

}  // namespace seedance::api
