#include "scripted/scripted_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/prefetch.h"
#include "base/random.h"
#include "engine/sequence.h"

namespace seedance::scripted {
namespace {

using engine::Cancel;
using engine::Job;
using engine::JobEnd;
using engine::JobId;

// The chosen token has more than half of the probability; each further candidate
// gets half of what is left.
stream::TokenLogprobs make_logprobs(TokenId chosen, std::uint64_t draw, std::uint32_t top,
                                    std::size_t vocabulary_size) {
  const double share = 0.55 + 0.4 * counter_uniform(draw, 0);
  stream::TokenLogprobs logprobs{.chosen = static_cast<float>(std::log(share)), .top = {}};
  double left = 1 - share;
  for (std::uint32_t i = 0; i < top; ++i) {
    const auto id = (static_cast<std::size_t>(chosen.value) + i) % vocabulary_size;
    const double probability = i == 0 ? share : left /= 2;
    logprobs.top.push_back(
        {TokenId{static_cast<std::int32_t>(id)}, static_cast<float>(std::log(probability))});
  }
  return logprobs;
}

}  // namespace

ScriptedEngine::ScriptedEngine(const Script& script)
    : script_(script),
      pause_(script.rate == 0 ? 0 : std::llround(1e9 / script.rate)),
      vocabulary_(script.context) {
  events_.emplace_back(engine::Ready{
      .context_tokens = script_.context,
      .sequences_max = script_.sequences,
      .vocabulary_size = static_cast<std::uint32_t>(vocabulary_.pieces().size()),
  });
}

void ScriptedEngine::on_command(engine::Command command, TimePoint now) {
  if (dead_) return;
  if (auto* const job = std::get_if<Job>(&command)) {
    accept(std::move(*job), now);
  } else {
    const auto& cancel = std::get<Cancel>(command);
    drop(cancel.id, cancel.gen);
  }
  start_waiting(now);
}

void ScriptedEngine::on_time(TimePoint now) {
  if (dead_) return;
  const Turns ready = take_ready(now);
  if (ready.empty()) return;
  if (++steps_ == script_.die_at_step) return die();

  engine::Step step;
  step.tokens.reserve(ready.size());
  for (std::size_t at = 0; at < ready.size(); ++at) {
    look_ahead(ready, at);
    Running& running = *ready[at];
    if (running.narrator.said() == script_.fail_at_token) {
      fail(running.id, running.gen,
           {.code = ErrorCode::engine_failed, .message = "the script fails this token"});
      finish(running.id);
      continue;
    }
    step.tokens.push_back(say(running, now));
    if (step.tokens.back().end != JobEnd::none) {
      finish(running.id);
    } else {
      set_due(running, running.due + pause_before(running));
    }
  }
  if (!step.tokens.empty()) events_.emplace_back(std::move(step));
  start_waiting(now);
}

// Those whose token is due, in order. Each is there once.
ScriptedEngine::Turns ScriptedEngine::take_ready(TimePoint now) {
  Turns ready;
  for (; !due_.empty() && due_.begin()->first <= now; due_.erase(due_.begin())) {
    Turns& due = due_.begin()->second;
    std::erase(due, nullptr);
    if (ready.empty()) {
      ready.swap(due);
    } else {
      ready.insert(ready.end(), due.begin(), due.end());
    }
  }
  return ready;
}

// The memory of the next jobs comes while this one has its turn.
void ScriptedEngine::look_ahead(const Turns& ready, std::size_t at) {
  if (at + 8 < ready.size()) prefetch(ready[at + 8], sizeof(Running));
  if (at + 4 < ready.size()) ready[at + 4]->narrator.look_ahead();
}

std::optional<engine::Event> ScriptedEngine::next() {
  if (events_.empty()) return std::nullopt;
  engine::Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

TimePoint ScriptedEngine::deadline() const {
  return running_.empty() ? kNever : due_.begin()->first;
}

void ScriptedEngine::accept(Job job, TimePoint now) {
  if (overtaken(job)) return;
  drop(job.id, job.gen);
  if (auto problem = why_not(job)) return fail(job.id, job.gen, *std::move(problem));
  if (running_.size() < script_.sequences && waiting_.empty()) {
    start(job, now);
  } else {
    waiting_.insert(std::ranges::upper_bound(waiting_, job.priority, {}, &Job::priority),
                    std::move(job));
  }
}

// Whether a job of this id is here that is not older.
bool ScriptedEngine::overtaken(const Job& job) const {
  const auto at = running_.find(job.id);
  if (at != running_.end()) return at->second.gen >= job.gen;
  return std::ranges::any_of(
      waiting_, [&](const Job& other) { return other.id == job.id && other.gen >= job.gen; });
}

std::optional<Problem> ScriptedEngine::why_not(const Job& job) const {
  const auto invalid = [](std::string message) {
    return Problem{.code = ErrorCode::invalid_request, .message = std::move(message)};
  };
  const auto unknown = [this](TokenId token) { return !vocabulary_.pieces().contains(token); };
  if (job.prompt.empty()) return invalid("the prompt holds no token");
  if (std::ranges::any_of(job.prompt, unknown) || std::ranges::any_of(job.committed, unknown)) {
    return invalid("a token is not in the vocabulary");
  }
  if (job.committed.size() >= job.tokens_max) return invalid("no token is left to generate");
  const std::size_t tokens = engine::sequence_tokens(job);
  if (tokens == 0) return invalid("what was dropped leaves nothing to go on from");
  if (tokens >= script_.context) {
    return Problem{.code = ErrorCode::context_length_exceeded,
                   .message = fmt::format("{} tokens leave no room in a context of {}", tokens,
                                          script_.context),
                   .numbers = {{"prompt_tokens", static_cast<std::int64_t>(tokens)},
                               {"context_tokens", script_.context}}};
  }
  if (waiting_.size() >= kWaitingMax) {
    return Problem{.code = ErrorCode::overloaded,
                   .message = fmt::format("{} jobs wait already", waiting_.size())};
  }
  return std::nullopt;
}

// Ends the job of this id unless its generation is newer.
void ScriptedEngine::drop(JobId id, Generation gen) {
  const auto at = running_.find(id);
  if (at != running_.end() && at->second.gen <= gen) {
    due_.at(at->second.due)[at->second.place] = nullptr;
    finish(id);
  }
  std::erase_if(waiting_, [&](const Job& job) { return job.id == id && job.gen <= gen; });
}

void ScriptedEngine::start(const Job& job, TimePoint now) {
  const std::vector<TokenId> tokens = engine::sequence_of(job);
  const Duration prefill = script_.prefill * static_cast<std::int64_t>(tokens.size());
  const auto prompt = std::span{tokens}.first(engine::prompt_left(job));
  const auto said = std::span{tokens}.subspan(prompt.size());
  Narrator narrator{vocabulary_, script_, prompt,
                    job.sampling.ignore_eos ? Ending::never : Ending::natural,
                    job.committed.size() - said.size()};
  const std::uint64_t pace = narrator.draw();
  for (const TokenId token : said) narrator.take(token);
  const auto [at, inserted] = running_.emplace(
      job.id,
      Running{.id = job.id,
              .gen = job.gen,
              .tokens_max = job.tokens_max,
              .narrator = std::move(narrator),
              .context_left = std::uint64_t{script_.context} + job.dropped - job.prompt.size(),
              .pace = pace,
              .started = now,
              .top_logprobs = std::min(job.sampling.top_logprobs, engine::kTopLogprobsMax),
              .logprobs = job.sampling.logprobs});
  set_due(at->second, now + prefill);
}

void ScriptedEngine::start_waiting(TimePoint now) {
  while (!waiting_.empty() && running_.size() < script_.sequences) {
    start(waiting_.front(), now);
    waiting_.pop_front();
  }
}

// It is not among those that are due.
void ScriptedEngine::finish(JobId id) {
  running_.erase(id);
  if (running_.empty()) due_.clear();
}

void ScriptedEngine::fail(JobId id, Generation gen, Problem problem) {
  events_.emplace_back(engine::JobFailed{.job = id, .gen = gen, .problem = std::move(problem)});
}

void ScriptedEngine::die() {
  dead_ = true;
  running_.clear();
  due_.clear();
  waiting_.clear();
  events_.emplace_back(
      engine::Failed{fmt::format("the script ends the engine at step {}", steps_)});
}

engine::StepToken ScriptedEngine::say(Running& running, TimePoint now) const {
  const TokenId token = running.narrator.next();
  engine::StepToken said{.job = running.id, .gen = running.gen, .token = token};
  if (running.first) said.prefill = now - running.started;
  if (running.logprobs) {
    said.logprobs.push_back(make_logprobs(token, running.narrator.draw(), running.top_logprobs,
                                          vocabulary_.pieces().size()));
  }
  running.first = false;
  running.narrator.take(token);
  said.end = end_of(running, token);
  return said;
}

JobEnd ScriptedEngine::end_of(const Running& running, TokenId token) {
  const std::uint64_t said = running.narrator.said();
  if (token == kEnd) return JobEnd::stop;
  if (said >= running.tokens_max) return JobEnd::length;
  return said >= running.context_left ? JobEnd::context : JobEnd::none;
}

// The pause before the token at the narrator's position.
Duration ScriptedEngine::pause_before(const Running& running) const {
  if (script_.rate == 0 || script_.jitter == 0) return pause_;
  const double swing = 2 * counter_uniform(running.pace, running.narrator.said()) - 1;
  return Duration{std::llround(1e9 / script_.rate * (1 + script_.jitter * swing))};
}

// As engines that batch: a step is for all.
TimePoint ScriptedEngine::at_step(TimePoint due) const {
  if (script_.step == Duration{}) return due;
  const Duration late = due.time_since_epoch() % script_.step;
  return late == Duration{} ? due : due - late + script_.step;
}

void ScriptedEngine::set_due(Running& running, TimePoint due) {
  if (script_.stall && script_.stall->token == running.narrator.said()) due += script_.stall->time;
  running.due = at_step(due);
  Turns& turns = due_[running.due];
  running.place = turns.size();
  turns.push_back(&running);
}

}  // namespace seedance::scripted
