// The worker: the process that runs one model.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace seedance::llama {

inline constexpr std::uint32_t kSequencesMax = 256;  // LLAMA_MAX_SEQ of llama.cpp.
inline constexpr std::uint64_t kGrammarMemoryMax = std::uint64_t{256} << 20;

struct WorkerOptions {
  std::string model_path;            // The first file of a split model.
  std::uint32_t context_tokens = 0;  // Of one sequence; 0 = what it was trained for, at most 4096.
  // That run at the same time, 1 to kSequencesMax; 0 = 64, or as many as there is memory for.
  std::uint32_t sequences_max = 0;
  std::int32_t threads = 0;               // That compute; 0 = one for each core.
  std::int32_t gpu_layers = 0;            // Layers to keep on a GPU; -1 = all.
  std::uint32_t batch_tokens_max = 2048;  // In one step: running sequences, then prefill.
  std::uint32_t ubatch_tokens_max = 512;  // That one pass through the model computes.
  // 0 = every sequence has memory for context_tokens of its own, which is fastest.
  // Otherwise all share memory for so many tokens: for large contexts and many
  // sequences in little memory. When it is full, the newest sequence waits.
  std::uint32_t shared_tokens = 0;
  std::string kv_type = "f16";  // Of what is kept of each token: f16, q8_0 or q4_0.
  // Of a prompt's beginning that is used again: a shorter one is not worth a copy. 0 = never.
  std::uint32_t reuse_min = 16;
  std::uint32_t step_target_ms = 80;      // PrefillLimits::step_target.
  std::uint32_t draft_tokens_max = 0;     // Tokens that one step guesses; 0 = none.
  bool draft_ngrams = true;               // They are guessed from what the sequences say again,
  std::string draft_model = {};           // by this model, or by what promises more; empty = none.
  std::uint32_t step_max_ms = 500;        // PrefillLimits::step_max.
  std::uint32_t prefill_pause_ms = 4000;  // PrefillLimits::pause_max.
  // Megabytes that parked sequences may save in the machine's memory; 0 = they are computed again.
  std::uint32_t park_memory_mb = 0;
  std::uint64_t grammar_bytes_max = kGrammarMemoryMax;  // Of memory, of all jobs.
  // How often Alive is sent while steps have nothing to tell.
  std::chrono::milliseconds alive_every{200};
  // How often Memory is sent while there is work.
  std::chrono::milliseconds memory_every{1000};
  std::string fault = {};             // FaultPlan: fails on purpose.
  std::vector<std::string> adapters;  // Files of those that jobs may name, by number from 1.
};

// The whole life of a worker process; returns its exit code.
//
// `fd` is a connected blocking stream socket to the parent, of which this takes
// possession. It carries messages (base/message.h): commands in, events out
// (engine/codec.h). First Loading events, then Ready; or one Failed and exit
// code 2, when the model cannot be run. A Step is sent before the next one is
// computed, or Alive now and then where steps have nothing to tell, and nothing the parent does or
// omits is waited for while there is work, except that the socket takes it.
//
// Ends with exit code 0 when the parent closes the socket; with 1 when the
// parent sends what is no command or llama.cpp cannot go on. SIGKILL comes when
// the thread that spawned the process ends (PR_SET_PDEATHSIG); SIGINT is
// ignored, since a terminal sends it to parent and child alike.
//
// Jobs beyond sequences_max wait in order of arrival. A job that does not fit
// (no prompt, tokens outside the vocabulary, a prompt as long as the context)
// ends with JobFailed. Cancel of a job that is not there is no error.
int run_worker(int fd, const WorkerOptions& options);

}  // namespace seedance::llama
