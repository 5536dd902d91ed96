// What a request asks for, as one hash.
#pragma once

#include "core/messages.h"
#include "stream/record.h"

namespace seedance::api {

// Two requests that may share an idempotency key have the same digest: those that
// ask for the same answer, whatever API they came by, however it is shown and
// whatever becomes of it when nobody reads it. SHA-256 of a fixed encoding, which
// the journal keeps: digests are the same in every process.
//
// In it: model, input, sampling (the seed only if the client gave one; logit_bias
// in the order of its tokens), max_tokens, stop and boundary.
stream::Sha256 digest_of(const core::GenerateRequest& request);

}  // namespace seedance::api
