#include "llama/context_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <thread>

#include "sched/model_draft.h"

namespace seedance::llama {
namespace {

constexpr std::uint32_t kContextDefaultMax = 4096;
constexpr std::uint32_t kSequencesDefault = 64;
constexpr std::uint32_t kTokensMin = 2;         // Of a sequence.
constexpr std::uint32_t kContextOpenMin = 512;  // A model's own is not made shorter.

// How many sequences, where that is open.
std::uint32_t sequences_in(std::uint64_t room, std::uint32_t tokens_each) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(room / std::max(tokens_each, 1U), 1, kSequencesDefault));
}

Result<ggml_type> kv_type(std::string_view name) {
  for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
    if (name == ggml_type_name(type)) return type;
  }
  return fail(Errc::invalid,
              fmt::format("kv_type \"{}\" is unknown; give f16, q8_0 or q4_0", name));
}

}  // namespace

Result<ContextPlan> plan_context(const WorkerOptions& options, std::uint32_t trained_tokens,
                                 std::uint64_t room) {
  const bool shared = options.shared_tokens > 0;
  std::uint32_t context = options.context_tokens;
  std::uint32_t sequences = options.sequences_max;
  if (context == 0) {
    context = std::min(trained_tokens, kContextDefaultMax);
    if (sequences == 0 && !shared && room < context) {
      context = std::min(context, std::max(static_cast<std::uint32_t>(room), kContextOpenMin));
    }
  }
  if (shared) context = std::min(context, options.shared_tokens);
  if (sequences == 0) {
    sequences =
        shared ? sequences_in(options.shared_tokens, kTokensMin) : sequences_in(room, context);
  }
  if (sequences > kSequencesMax) {
    return fail(Errc::invalid,
                fmt::format("{} sequences at a time are asked for, at most {} can be", sequences,
                            kSequencesMax));
  }
  if (context < kTokensMin) {
    return fail(Errc::invalid, fmt::format("a context of {} tokens is too small: at least {} are "
                                           "needed, one for the prompt and one for the answer",
                                           context, kTokensMin));
  }
  if (shared && options.shared_tokens / kTokensMin < sequences) {
    return fail(Errc::invalid,
                fmt::format("kv_tokens: room for {} tokens is too little for {} streams at a time: "
                            "at least {} are needed for each, so give more or fewer streams",
                            options.shared_tokens, sequences, kTokensMin));
  }
  const std::uint64_t tokens = shared ? options.shared_tokens : std::uint64_t{context} * sequences;
  if (tokens > std::numeric_limits<std::int32_t>::max()) {
    return fail(Errc::invalid,
                fmt::format("{} sequences of {} tokens are more than llama.cpp can keep", sequences,
                            context));
  }
  const auto type = kv_type(options.kv_type);
  if (!type) return std::unexpected(type.error());
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = static_cast<std::uint32_t>(tokens);
  parameters.n_seq_max = sequences;
  parameters.n_batch = std::max(options.batch_tokens_max, 2 * sequences);
  parameters.n_ubatch = std::max(options.ubatch_tokens_max, 1U);
  // One row of logits for each, however many tokens, and one for each guess.
  parameters.n_outputs_max = sequences + options.draft_tokens_max;
  parameters.kv_unified = shared;
  parameters.type_k = parameters.type_v = *type;
  // llama.cpp reads quantized values only in its flash attention.
  if (*type != GGML_TYPE_F16) parameters.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  parameters.swa_full = false;
  parameters.no_perf = true;
  const auto cores = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  parameters.n_threads = options.threads > 0 ? options.threads : cores;
  parameters.n_threads_batch = parameters.n_threads;
  return ContextPlan{.parameters = parameters, .context_tokens = context, .sequences = sequences};
}

std::vector<std::string> asked_in_vain(const WorkerOptions& options, std::uint32_t trained_tokens,
                                       std::uint32_t context_tokens, Machine machine) {
  std::vector<std::string> out;
  if (options.gpu_layers != 0 && !machine.gpu) {
    out.push_back(
        fmt::format("gpu_layers: {} cannot be: llama.cpp, as it is built here, finds no GPU; "
                    "everything is computed on the processor",
                    options.gpu_layers));
  }
  if (context_tokens < options.context_tokens) {
    out.push_back(
        fmt::format("ctx_size: {} tokens of a stream cannot be: kv_tokens has room for "
                    "{} of all streams, and so each has {} at most",
                    options.context_tokens, options.shared_tokens, context_tokens));
  }
  if (options.context_tokens > 0 && context_tokens > trained_tokens) {
    out.push_back(
        fmt::format("ctx_size: of {} tokens the model was trained for {}: what it says "
                    "behind those may make no sense",
                    context_tokens, trained_tokens));
  }
  return out;
}

WorkerOptions draft_options(const WorkerOptions& options, const ContextPlan& plan) {
  WorkerOptions draft = options;
  draft.model_path = options.draft_model;
  draft.draft_model.clear();
  draft.draft_tokens_max = 0;
  draft.adapters.clear();
  draft.context_tokens = plan.context_tokens;
  draft.sequences_max = plan.sequences;
  draft.batch_tokens_max =
      std::max(options.batch_tokens_max, plan.sequences * sched::kReadAlongMax);
  return draft;
}

}  // namespace seedance::llama
