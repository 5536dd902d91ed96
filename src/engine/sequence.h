// The tokens of a job that its engine computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/job.h"

namespace seedance::engine {

// How many they are; 0 when less is there than was dropped.
std::size_t sequence_tokens(const Job& job);

// The prompt, then the committed tokens, without what was dropped. Only where some are left.
std::vector<TokenId> sequence_of(const Job& job);

// How many of the sequence are of the prompt.
std::size_t prompt_left(const Job& job);

}  // namespace seedance::engine
