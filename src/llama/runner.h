// Runs the jobs of a worker, step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/job.h"
#include "llama/batch.h"
#include "llama/compute_team.h"
#include "llama/draft_runner.h"
#include "llama/fault.h"
#include "llama/kv_memory.h"
#include "llama/model.h"
#include "llama/sampler.h"
#include "sched/batch_planner.h"
#include "text/token_constraint.h"

namespace seedance::llama {

// What is guessed ahead, where the model allows it.
struct Drafting {
  std::uint32_t tokens_max = 0;  // In a batch.
  bool ngrams = true;            // From what repeats, beside what the model's draft model guesses.
};

struct RunnerLimits {
  sched::PrefillLimits prefill = {};
  Drafting drafting = {};
  // As much memory as the grammars of all jobs may take. One that comes and goes beyond it is
  // refused; where they do in their answers, the one that takes the most ends.
  std::uint64_t grammar_bytes_max = kGrammarMemoryMax;
  std::uint64_t park_bytes_max = 0;  // Of what parked jobs save.
};

// Carries out what the planner plans, on a model. Belongs to one thread.
class Runner {
 public:
  // By which the time of steps is taken.
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit Runner(Model& model, RunnerLimits limits = {}, Fault fault = {},
                  Clock clock = std::chrono::steady_clock::now);

  void on_command(engine::Command command);

  // What it has in memory, and what became of it since the last call.
  engine::Memory take_memory();

  // Also what nobody wants any more is gone.
  bool idle() const;

  // Computes one batch and samples. What happened since the last step comes back:
  // refusals, one Step with all tokens or Alive, failures. Fatal when llama.cpp cannot go
  // on; then this must not be used again.
  Result<std::vector<engine::Event>> step();

 private:
  struct Running {
    std::size_t tokens_max = 0;  // Prompt included.
    Sampler sampler;
    // When the first batch with a token of it began; nothing once that was told.
    std::optional<std::chrono::steady_clock::time_point> prefill_begun = {};
    bool started = false;
  };

  void on(engine::Job job);
  void on(engine::Cancel cancel);
  void bound_grammars();
  std::optional<Problem> refusal(const engine::Job& job) const;
  std::optional<Problem> refusal(const text::TokenConstraint& constraint) const;
  Result<std::optional<text::TokenConstraint>> constraint_of(const engine::Job& job);

  Result<bool> move();
  void start(std::span<const sched::Part> parts);
  void draft();
  int decode(const llama_batch& batch, std::span<const sched::Part> parts);
  void fill_batch(std::span<const sched::Part> parts);
  void sample(std::span<const sched::Part> parts, Duration took);
  float* logits(std::int32_t row);
  Result<Sampler::Choice> choose(const sched::Part& part, float* logits);
  bool take(const sched::Part& part, Result<Sampler::Choice> choice, engine::Step& step);
  engine::JobEnd end_after(std::span<const TokenId> tokens, std::size_t tokens_max) const;
  Result<void> clear_fillers(std::span<const sched::Part> parts);
  void fail_jobs(std::span<const sched::Part> parts, const std::string& message);
  void fail_job(sched::JobKey key, const std::string& message,
                ErrorCode code = ErrorCode::engine_failed);
  void fail_job(sched::JobKey key, Problem problem);

  Model& model_;
  ComputeTeam team_;
  KvMemory memory_;
  sched::BatchPlanner planner_;
  std::map<sched::JobKey, Running> jobs_;
  std::vector<engine::Event> events_;
  Fault fault_;
  const std::uint64_t grammar_bytes_max_;
  Clock now_;
  std::optional<text::PieceOrder> pieces_;  // Once there was a job with a grammar.

  std::optional<DraftRunner> draft_;
  Batch batch_;
};

}  // namespace seedance::llama
