// What an engine is asked and what it says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/id.h"
#include "base/priority.h"
#include "base/time.h"
#include "engine/end_cause.h"
#include "stream/record.h"

namespace seedance::engine {

// Names a job within one core; never used again.
struct JobId {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(JobId, JobId) = default;
};

inline constexpr std::uint32_t kTopLogprobsMax = 20;

// All are checked by whoever parses the request (api) before an engine sees them.
struct Sampling {
  float temperature = 1.0F;  // 0 = greedy.
  std::int32_t top_k = 0;    // 0 = all.
  float top_p = 1.0F;
  float min_p = 0.0F;
  float presence_penalty = 0.0F;  // Over the generated tokens, as OpenAI defines both.
  float frequency_penalty = 0.0F;
  float repeat_penalty = 1.0F;  // Over the last repeat_last_n tokens, prompt included.
  std::int32_t repeat_last_n = 64;
  std::uint64_t seed = 0;  // Always set: the core draws one when the client gave none.
  std::vector<std::pair<TokenId, float>> logit_bias = {};
  bool logprobs = false;
  std::uint32_t top_logprobs = 0;  // At most kTopLogprobsMax.
  bool ignore_eos = false;         // Never ends by itself: an end token is never chosen.
  // GBNF that the generated text must follow; empty = none. It was parsed before (text::Grammar).
  std::string grammar = {};

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// One sequence to continue. The token at offset i of the stream is drawn with
// counter_uniform(seed, i), where i counts generated tokens: those in
// `committed` are not generated again.
struct Job {
  JobId id;
  Generation gen;
  std::vector<TokenId> prompt;          // Never empty.
  std::vector<TokenId> committed = {};  // Generated before, to be continued.
  // What was computed of a prompt is used for others of the same scope only: how long theirs
  // take would tell them what others ask.
  std::uint64_t scope = 0;
  std::uint32_t adapter = 0;     // Of those that the engine has, from 1; 0 = the model as it is.
  std::uint32_t tokens_max = 0;  // Of the stream: committed ones count.
  Sampling sampling = {};
  Priority priority = Priority::interactive;
  // Behind the first `keep` of prompt and committed tokens the sequence lacks `dropped` ones:
  // engine/sequence.h. Penalties and offsets count them all the same.
  std::uint32_t keep = 0;
  std::uint32_t dropped = 0;

  friend bool operator==(const Job&, const Job&) = default;
};

struct Cancel {
  JobId id;
  Generation gen;

  friend bool operator==(const Cancel&, const Cancel&) = default;
};

using Command = std::variant<Job, Cancel>;

// Why a job gives no more tokens.
enum class JobEnd : std::uint8_t {
  none,     // It goes on.
  stop,     // The token is an end token.
  length,   // tokens_max was reached.
  context,  // The sequence fills its context; reported to clients as length.
};

// One new token of one job.
struct StepToken {
  JobId job;
  Generation gen;
  TokenId token;
  JobEnd end = JobEnd::none;
  // With the first token only: from the decode call that first held a part of
  // the prompt until this token was sampled.
  Duration prefill{};
  // With the first token only: so many tokens of the prompt were in memory before.
  std::uint32_t reused = 0;
  std::vector<stream::TokenLogprobs> logprobs = {};  // One when asked for, else none.

  friend bool operator==(const StepToken&, const StepToken&) = default;
};

// Everything that one step of the engine made, for all jobs.
struct Step {
  std::vector<StepToken> tokens;  // Of one job perhaps several, in their order.
  // Sequences that gave their place to a job of a higher class since the last one. They go on
  // later.
  std::uint32_t parked = 0;
  // Likewise, that went on with what they had saved.
  std::uint32_t restored = 0;
  // Tokens that the engine guessed and computed ahead, and of these those that it then chose.
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

// A job that ends without a token: refused or failed. Final for this gen.
struct JobFailed {
  JobId job;
  Generation gen;
  Problem problem;

  friend bool operator==(const JobFailed&, const JobFailed&) = default;
};

struct Loading {
  float progress = 0;  // 0 to 1.

  friend bool operator==(const Loading&, const Loading&) = default;
};

// In bytes.
struct DeviceMemory {
  std::uint64_t weights = 0;
  std::uint64_t kv = 0;       // What is kept of tokens.
  std::uint64_t compute = 0;  // Room for one step.

  friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

// What an engine takes of one device's memory, as it was predicted before it was loaded and as
// the device tells. Weights of adapters are in neither.
struct DeviceReport {
  std::string device;
  DeviceMemory predicted;
  DeviceMemory taken;

  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

// Says what the engine can do, once, before its first step.
struct Ready {
  std::uint32_t context_tokens = 0;  // Of one sequence: prompt and generated together.
  std::uint32_t sequences_max = 0;   // That run at the same time.
  std::uint32_t vocabulary_size = 0;
  // Stages of the start, in order: name and milliseconds.
  std::vector<std::pair<std::string, double>> timeline = {};
  std::vector<DeviceReport> memory = {};   // The machine itself is the last.
  std::vector<std::string> warnings = {};  // For the operator: what it was asked for in vain.

  friend bool operator==(const Ready&, const Ready&) = default;
};

// What lies in its memory for tokens, in cells that hold one each, and what became of it, and how
// much memory its process has: now and then while it works, and before it has nothing to do.
struct Memory {
  std::uint64_t cells_active = 0;  // Of sequences that run.
  std::uint64_t cells_pinned = 0;  // Kept: prefixes that several shared. Given up last.
  std::uint64_t cells_cached = 0;  // Kept, what else can be used again.
  std::uint64_t cells_free = 0;
  std::uint64_t saved_bytes = 0;  // Of the host's, by sequences that wait.
  // Since the last one.
  std::uint64_t tokens_asked = 0;   // Of sequences that came to be computed.
  std::uint64_t tokens_reused = 0;  // Of these, those that were there.
  std::uint64_t evictions = 0;      // Times that something kept had to give way.
  // Of its process, what is in the machine's memory; and of this, what is neither weights nor kept
  // of tokens.
  std::uint64_t resident_bytes = 0;
  std::uint64_t own_bytes = 0;

  friend bool operator==(const Memory&, const Memory&) = default;
};

// It goes on, though a step gave nothing to tell: another part of a long prompt was computed.
struct Alive {
  friend bool operator==(Alive, Alive) = default;
};

// The engine cannot start (a broken file, too little memory) or has ended.
struct Failed {
  std::string message;
  EndCause cause = EndCause::other;

  friend bool operator==(const Failed&, const Failed&) = default;
};

using Event = std::variant<Loading, Ready, Step, JobFailed, Failed, Alive, Memory>;

}  // namespace seedance::engine

template <>
struct std::hash<seedance::engine::JobId> {
  std::size_t operator()(seedance::engine::JobId id) const noexcept { return id.value; }
};
