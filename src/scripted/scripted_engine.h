// An engine without a model.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "engine/job.h"
#include "scripted/narrator.h"
#include "scripted/script.h"
#include "scripted/vocabulary.h"

namespace seedance::scripted {

// Runs jobs as a Script says: for tests, load, and people who write clients.
//
// The tokens are those of a Narrator: the same for the same prompt and script,
// whatever else runs, whenever, and however often a job is continued elsewhere.
// Of the sampling parameters only logprobs, top_logprobs and ignore_eos count.
// Log-probabilities are made up, but such as a model could give.
//
// A job's first token comes script.prefill for each of its tokens after it got
// its turn; then a token a pause. Jobs over script.sequences wait: those of higher
// classes go first, and of one class who came first. Nobody who runs makes room.
//
// Sans-IO: commands and time go in; the owner empties next() after each, and
// calls on_time() no later than deadline(), which may have passed already. Says
// Ready first. Once it said Failed it is dead: nothing comes any more and what it
// is told is ignored. Belongs to one thread.
class ScriptedEngine {
 public:
  // Jobs that may wait; one more is refused.
  static constexpr std::size_t kWaitingMax = 65536;

  explicit ScriptedEngine(const Script& script);
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // A job with the id of one that is there replaces it when its generation is
  // newer; a job or cancel of an older generation is ignored.
  void on_command(engine::Command command, TimePoint now);

  // Makes at most one step: the next token of every job that is due.
  void on_time(TimePoint now);

  std::optional<engine::Event> next();

  // kNever when nothing runs.
  TimePoint deadline() const;

  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // What each token needs, in few cache lines.
  struct Running {
    engine::JobId id;
    Generation gen;
    std::uint32_t tokens_max = 0;
    TimePoint due;
    std::size_t place = 0;  // Among those that are due then.
    Narrator narrator;
    std::uint64_t context_left = 0;  // When so many tokens are said, its context is full.
    std::uint64_t pace = 0;          // What its pauses are drawn from.
    TimePoint started;
    std::uint32_t top_logprobs = 0;
    bool logprobs = false;
    bool first = true;
  };
  using Turns = std::vector<Running*>;

  Turns take_ready(TimePoint now);
  static void look_ahead(const Turns& ready, std::size_t at);

  void accept(engine::Job job, TimePoint now);
  bool overtaken(const engine::Job& job) const;
  std::optional<Problem> why_not(const engine::Job& job) const;
  void drop(engine::JobId id, Generation gen);
  void start(const engine::Job& job, TimePoint now);
  void start_waiting(TimePoint now);
  void finish(engine::JobId id);
  void fail(engine::JobId id, Generation gen, Problem problem);
  void die();
  engine::StepToken say(Running& running, TimePoint now) const;
  static engine::JobEnd end_of(const Running& running, TokenId token);
  Duration pause_before(const Running& running) const;
  TimePoint at_step(TimePoint due) const;
  void set_due(Running& running, TimePoint due);

  const Script script_;
  const Duration pause_;  // Without jitter.
  const Vocabulary vocabulary_;
  std::unordered_map<engine::JobId, Running> running_;
  std::map<TimePoint, Turns> due_;  // Null are those whose job ended before.
  std::deque<engine::Job> waiting_;
  std::deque<engine::Event> events_;
  std::uint64_t steps_ = 0;
  bool dead_ = false;
};

}  // namespace seedance::scripted
