// How much a model computes at once and remembers, from a worker's options.
#pragma once

#include <llama.h>

#include <cstdint>

#include "base/result.h"
#include "llama/worker.h"

namespace seedance::llama {

struct ContextPlan {
  llama_context_params parameters;
  std::uint32_t context_tokens = 0;  // Of one sequence.
  std::uint32_t sequences = 0;
};

// `trained_tokens`: the context that the model was made for. Invalid where llama.cpp could
// not do it.
Result<ContextPlan> plan_context(const WorkerOptions& options, std::uint32_t trained_tokens);

}  // namespace seedance::llama
