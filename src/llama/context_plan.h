// How much a model computes at once and remembers, from a worker's options.
#pragma once

#include <llama.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "llama/worker.h"

namespace seedance::llama {

struct ContextPlan {
  llama_context_params parameters;
  std::uint32_t context_tokens = 0;  // Of one sequence.
  std::uint32_t sequences = 0;
};

// `trained_tokens`: the context that the model was made for. Where the options leave the number
// of sequences open, so many as there is memory for: `room` tokens of all. Then, where the
// context is open, too, one as short as that. Invalid where llama.cpp could not do it.
Result<ContextPlan> plan_context(const WorkerOptions& options, std::uint32_t trained_tokens,
                                 std::uint64_t room = std::numeric_limits<std::uint64_t>::max());

// What the machine has for this build of llama.cpp.
struct Machine {
  bool gpu = false;
};

// Of what the options ask for: what there will not be, or does no good, in a sentence each.
// `context_tokens` are those of the plan.
std::vector<std::string> asked_in_vain(const WorkerOptions& options, std::uint32_t trained_tokens,
                                       std::uint32_t context_tokens, Machine machine);

// Of the draft model, for the sequences of such a plan.
WorkerOptions draft_options(const WorkerOptions& options, const ContextPlan& plan);

}  // namespace seedance::llama
