#include "llama/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "engine/sequence.h"
#include "llama/failure.h"
#include "llama/pieces.h"

namespace seedance::llama {
namespace {

// Bridging a gap of idle slots costs a row each, a second pass reads all weights
// again: about as much as so many rows.
constexpr std::uint32_t kGapMax = 8;

sched::PlannerLimits limits_of(const Model& model, const RunnerLimits& limits) {
  return {.sequences_max = model.sequences_max(),
          .batch_tokens_max = model.batch_tokens_max(),
          .gap_max = model.shares_memory() ? 0 : kGapMax,
          .reuse_min = model.reuse_min(),
          .draft_tokens_max = model.can_cut() ? limits.drafting.tokens_max : 0,
          .draft_ngrams = limits.drafting.ngrams,
          .draft_model = model.draft() != nullptr,
          .prefill = limits.prefill,
          .park_bytes_max = limits.park_bytes_max,
          .sequence_bytes = model.sequence_bytes()};
}

sched::JobKey key_of(engine::JobId id, Generation gen) {
  return {.id = id.value, .gen = gen};
}

Problem invalid(std::string message) {
  return {.code = ErrorCode::invalid_request, .message = std::move(message)};
}

Problem no_grammar_memory(std::string message, std::uint64_t bytes, std::uint64_t taken,
                          std::uint64_t bytes_max) {
  return {.code = ErrorCode::overloaded,
          .message = std::move(message),
          .numbers = {{"bytes", static_cast<std::int64_t>(bytes)},
                      {"bytes_taken", static_cast<std::int64_t>(taken)},
                      {"bytes_max", static_cast<std::int64_t>(bytes_max)}}};
}

}  // namespace

Runner::Runner(Model& model, RunnerLimits limits, Fault fault, Clock clock)
    : model_(model),
      team_(llama_n_threads(model.context())),
      memory_(model.context(), model.shares_memory(), model.sequence_bytes()),
      planner_(limits_of(model, limits)),
      fault_(std::move(fault)),
      grammar_bytes_max_(limits.grammar_bytes_max),
      now_(std::move(clock)),
      batch_(model.batch_tokens_max()) {
  if (model.draft() != nullptr) draft_.emplace(*model.draft());
}

bool Runner::idle() const {
  return planner_.idle() && events_.empty() && !planner_.has_changes();
}

void Runner::on_command(engine::Command command) {
  std::visit([this](auto& each) { on(std::move(each)); }, command);
}

void Runner::on(engine::Job job) {
  if (auto problem = refusal(job)) {
    events_.emplace_back(engine::JobFailed{job.id, job.gen, *std::move(problem)});
    return;
  }
  auto constraint = constraint_of(job);
  if (!constraint) {
    events_.emplace_back(engine::JobFailed{
        job.id, job.gen, {.code = ErrorCode::engine_failed, .message = constraint.error().detail}});
    return;
  }
  if (*constraint) {
    if (auto problem = refusal(**constraint)) {
      events_.emplace_back(engine::JobFailed{job.id, job.gen, *std::move(problem)});
      return;
    }
  }
  const sched::JobKey key = key_of(job.id, job.gen);
  const std::size_t prompt_tokens = job.prompt.size();
  std::vector<TokenId> tokens = engine::sequence_of(job);
  const auto [at, added] = jobs_.try_emplace(
      key, Running{.tokens_max = prompt_tokens + job.tokens_max - job.dropped,
                   .sampler = Sampler{std::move(job.sampling), prompt_tokens, model_.end_tokens(),
                                      *std::move(constraint)}});
  if (added && job.dropped > 0) {
    at->second.sampler.go_on_behind_cut(job.dropped, job.committed, tokens.size());
  }
  const auto most = std::min<std::size_t>(at->second.tokens_max, model_.context_tokens());
  if (added) {
    planner_.add({.key = key,
                  .tokens = std::move(tokens),
                  .priority = job.priority,
                  .scope = {.owner = job.scope, .adapter = job.adapter},
                  .tokens_max = static_cast<std::uint32_t>(most),
                  .goes_on = !job.committed.empty()});
  }
}

void Runner::on(engine::Cancel cancel) {
  const sched::JobKey key = key_of(cancel.id, cancel.gen);
  if (planner_.cancel(key)) jobs_.erase(key);
}

// Whoever parses requests has checked them; this keeps the model safe from a
// mistake there.
std::optional<Problem> Runner::refusal(const engine::Job& job) const {
  const auto unknown = [&](TokenId token) {
    return token.value < 0 || std::cmp_greater_equal(token.value, model_.vocabulary_size());
  };
  if (job.prompt.empty()) return invalid("The prompt has no tokens.");
  if (job.tokens_max <= job.committed.size()) {
    return invalid(fmt::format("{} tokens were generated of at most {}: none is left to generate.",
                               job.committed.size(), job.tokens_max));
  }
  const auto biased = [&](const auto& bias) { return unknown(bias.first); };
  if (std::ranges::any_of(job.prompt, unknown) || std::ranges::any_of(job.committed, unknown) ||
      std::ranges::any_of(job.sampling.logit_bias, biased)) {
    return invalid(fmt::format("A token id is outside the vocabulary of {} tokens.",
                               model_.vocabulary_size()));
  }
  if (job.adapter > model_.adapters()) {
    return invalid(
        fmt::format("There is no adapter {}: the model has {}.", job.adapter, model_.adapters()));
  }
  const std::size_t tokens = engine::sequence_tokens(job);
  if (tokens == 0) return invalid("What was dropped leaves nothing to go on from.");
  if (tokens < model_.context_tokens()) return std::nullopt;
  return Problem{
      .code = ErrorCode::context_length_exceeded,
      .message = fmt::format("The prompt has {} tokens and the context holds {}, of which at least "
                             "one must stay free: shorten the prompt.",
                             tokens, model_.context_tokens()),
      .numbers = {{"prompt_tokens", static_cast<std::int64_t>(tokens)},
                  {"context_tokens", static_cast<std::int64_t>(model_.context_tokens())}}};
}

// Whoever runs already is not to suffer from who comes.
std::optional<Problem> Runner::refusal(const text::TokenConstraint& constraint) const {
  std::uint64_t taken = 0;
  for (const auto& [key, running] : jobs_) taken += running.sampler.constraint_bytes();
  const std::uint64_t bytes = constraint.bytes();
  if (taken + bytes <= grammar_bytes_max_) return std::nullopt;
  return no_grammar_memory(
      fmt::format("The grammars of all running answers take {} bytes of memory, at most {} are "
                  "allowed, and this one takes {} more: use a simpler one, or try again later.",
                  taken, grammar_bytes_max_, bytes),
      bytes, taken, grammar_bytes_max_);
}

// Behind the committed tokens. The grammar was parsed before, by who checked the request.
Result<std::optional<text::TokenConstraint>> Runner::constraint_of(const engine::Job& job) {
  if (job.sampling.grammar.empty()) return std::nullopt;
  auto grammar = text::Grammar::parse(job.sampling.grammar);
  if (!grammar) return fail(Errc::invalid, "The grammar is none: " + grammar.error().detail);
  if (!pieces_)
    pieces_.emplace(read_pieces(llama_model_get_vocab(llama_get_model(model_.context()))));
  text::TokenConstraint constraint{*std::move(grammar), *pieces_};
  for (const TokenId token : job.committed) {
    if (!constraint.accept(token)) {
      return fail(Errc::invalid, "The tokens so far do not keep to the grammar.");
    }
  }
  return constraint;
}

// What is known of a grammar grows with the answer.
void Runner::bound_grammars() {
  while (pieces_) {
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    sched::JobKey largest;
    for (const auto& [key, running] : jobs_) {
      const std::uint64_t bytes = running.sampler.constraint_bytes();
      sum += bytes;
      if (bytes > most) largest = key;
      most = std::max(most, bytes);
    }
    if (sum <= grammar_bytes_max_) return;
    fail_job(largest,
             no_grammar_memory(
                 fmt::format("The grammars of all running answers take {} bytes of memory, "
                             "at most {} are allowed; that of this one takes the most, {}: "
                             "use a simpler one, or try again later.",
                             sum, grammar_bytes_max_, most),
                 most, sum, grammar_bytes_max_));
  }
}

Result<std::vector<engine::Event>> Runner::step() {
  while (true) {
    const auto parts = planner_.plan();
    const auto as_planned = move();
    if (!as_planned) return std::unexpected(as_planned.error());
    if (!*as_planned) continue;
    if (parts.empty()) break;
    start(parts);
    draft();
    fill_batch(parts);
    model_.use_adapter(planner_.adapter());
    const llama_batch batch = batch_.view();
    const auto begun = now_();
    const int status = decode(batch, parts);
    llama_synchronize(model_.context());  // A device computes on behind the call.
    if (status == 1 && planner_.on_no_room()) continue;
    if (status == kDecodeNoMemory) {
      return fail(Errc::overloaded,
                  fmt::format("no memory can be had for a step (tokens: {})", batch.n_tokens));
    }
    if (status < -1) return fail(Errc::invalid, fmt::format("llama_decode gave {}", status));
    if (const auto cleared = clear_fillers(parts); !cleared) {
      return std::unexpected(cleared.error());
    }
    if (status != 0) {
      fail_jobs(parts,
                fmt::format("The model could not compute a batch (llama_decode gave {}).", status));
    } else {
      sample(parts, now_() - begun);
      bound_grammars();
    }
    break;
  }
  return std::exchange(events_, {});
}

// Makes the memory what the plan wants. Whether it is.
Result<bool> Runner::move() {
  const auto moves = memory_.carry_out(planner_.take_changes());
  if (!moves) return std::unexpected(moves.error());
  bool as_planned = true;
  for (const sched::KvMove& each : *moves) as_planned = planner_.on_moved(each) && as_planned;
  return as_planned;
}

engine::Memory Runner::take_memory() {
  const auto [active, pinned, cached] = planner_.kv_use();
  const auto [asked, reused, evictions] = planner_.take_kv_counts();
  const ResidentMemory resident = resident_memory();
  const std::uint64_t taken = active + pinned + cached;
  const std::uint64_t saved = planner_.saved_bytes();
  return {.cells_active = active,
          .cells_pinned = pinned,
          .cells_cached = cached,
          .cells_free = std::max<std::uint64_t>(model_.cells(), taken) - taken,
          .saved_bytes = saved,
          .tokens_asked = asked,
          .tokens_reused = reused,
          .evictions = evictions,
          .resident_bytes = resident.all,
          .own_bytes = model_.own_bytes(resident, saved)};
}

int Runner::decode(const llama_batch& batch, std::span<const sched::Part> parts) {
  if (!fault_.armed()) return llama_decode(model_.context(), batch);
  const auto begins = [this](const sched::Part& part) {
    return !part.filler && jobs_.at(part.job).prefill_begun;
  };
  const auto goes_on = [&](const sched::Part& part) { return !part.filler && !begins(part); };
  using Place = FaultPlan::Place;
  if ((std::ranges::any_of(parts, begins) && fault_.strikes(Place::prefill)) ||
      (std::ranges::any_of(parts, goes_on) && fault_.strikes(Place::decode))) {
    return kDecodeNoMemory;
  }
  return llama_decode(model_.context(), batch);
}

void Runner::start(std::span<const sched::Part> parts) {
  const auto now = now_();
  for (const sched::Part& part : parts) {
    if (part.filler) continue;
    Running& running = jobs_.at(part.job);
    if (!std::exchange(running.started, true)) running.prefill_begun = now;
  }
}

void Runner::draft() {
  const auto work = planner_.draft_work();
  if (work.empty()) return;
  const auto begun = now_();
  std::vector<std::span<const TokenId>> texts;
  for (const auto& [slot, begin, count, guesses] : work) {
    texts.push_back(planner_.tokens(slot).subspan(begin, count));
  }
  if (const auto guesses = draft_->run(work, texts)) {
    planner_.on_drafted(*guesses, now_() - begun);
  } else {
    planner_.on_draft_failed();
  }
}

void Runner::fill_batch(std::span<const sched::Part> parts) {
  batch_.clear();
  for (const sched::Part& part : parts) {
    const auto known = part.filler ? std::span<const TokenId>{}
                                   : planner_.tokens(part.slot).subspan(part.begin, part.count);
    const auto guess = part.drafted > 0 ? planner_.guess(part.slot) : std::span<const TokenId>{};
    for (std::uint32_t index = 0; index < part.count + part.drafted; ++index) {
      TokenId token = model_.filler();
      if (index < known.size()) {
        token = known[index];
      } else if (index - known.size() < guess.size()) {
        token = guess[index - known.size()];
      }
      batch_.add(part.slot, part.begin + index, token, part.last && index + 1 >= part.count);
    }
  }
}

void Runner::sample(std::span<const sched::Part> parts, Duration took) {
  planner_.on_computed(took);
  const std::ptrdiff_t before = std::ssize(events_);
  struct Draw {
    sched::Part part;  // A copy: what ends or goes on changes the plan.
    std::int32_t row;
    float* logits;
    Result<Sampler::Choice> choice = {};
  };
  std::vector<Draw> draws;
  std::int32_t row = -1;
  for (const sched::Part& part : parts) {
    row += static_cast<std::int32_t>(part.count);
    if (part.last) draws.push_back({.part = part, .row = row, .logits = logits(row)});
    row += static_cast<std::int32_t>(part.drafted);
  }
  team_.run(draws.size(),
            [&](std::size_t at) { draws[at].choice = choose(draws[at].part, draws[at].logits); });
  engine::Step step;
  for (Draw& draw : draws) {
    auto choice = std::move(draw.choice);
    while (take(draw.part, std::move(choice), step)) choice = choose(draw.part, logits(++draw.row));
  }
  if (step.tokens.empty()) {
    events_.emplace_back(engine::Alive{});
    return;
  }
  step.parked = planner_.take_parked();
  step.restored = planner_.take_restored();
  const auto [drafted, accepted] = planner_.take_drafts();
  step.drafted = drafted;
  step.accepted = accepted;
  events_.insert(events_.begin() + before, std::move(step));  // A job's tokens, then its failure.
}

float* Runner::logits(std::int32_t row) {
  return llama_get_logits_ith(model_.context(), row);
}

// Of several parts at the same time.
Result<Sampler::Choice> Runner::choose(const sched::Part& part, float* logits) {
  return jobs_.at(part.job).sampler.choose({logits, model_.vocabulary_size()},
                                           planner_.tokens(part.slot));
}

// The token that follows. Whether the next row is what follows that.
bool Runner::take(const sched::Part& part, Result<Sampler::Choice> choice, engine::Step& step) {
  if (!choice) {
    const bool grammar = choice.error().code == Errc::invalid;
    fail_job(part.job, fmt::format("The answer cannot go on: {}.", choice.error().detail),
             grammar ? ErrorCode::invalid_request : ErrorCode::engine_failed);
    return false;
  }
  Running& running = jobs_.at(part.job);
  const bool guessed = planner_.on_token(part.slot, choice->token);
  engine::StepToken token{.job = {part.job.id},
                          .gen = part.job.gen,
                          .token = choice->token,
                          .end = end_after(planner_.tokens(part.slot), running.tokens_max)};
  if (const auto begun = std::exchange(running.prefill_begun, std::nullopt)) {
    token.prefill = now_() - *begun;
    token.reused = planner_.reused(part.slot);
  }
  if (choice->logprobs) token.logprobs.push_back(*std::move(choice->logprobs));
  const bool ended = token.end != engine::JobEnd::none;
  step.tokens.push_back(std::move(token));
  if (!ended) return guessed;
  planner_.on_end(part.job);
  jobs_.erase(part.job);
  return false;
}

engine::JobEnd Runner::end_after(std::span<const TokenId> tokens, std::size_t tokens_max) const {
  if (model_.ends(tokens.back())) return engine::JobEnd::stop;
  if (tokens.size() >= tokens_max) return engine::JobEnd::length;
  if (tokens.size() >= model_.context_tokens()) return engine::JobEnd::context;
  return engine::JobEnd::none;
}

// Cuts them off again.
Result<void> Runner::clear_fillers(std::span<const sched::Part> parts) {
  for (const sched::Part& part : parts) {
    if (!part.filler) continue;
    if (auto cut = memory_.cut(part.slot, part.begin); !cut) return cut;
  }
  return {};
}

void Runner::fail_jobs(std::span<const sched::Part> parts, const std::string& message) {
  std::vector<sched::JobKey> keys;
  for (const sched::Part& part : parts) {
    if (!part.filler && jobs_.contains(part.job)) keys.push_back(part.job);
  }
  for (const sched::JobKey key : keys) {
    if (!jobs_.contains(key)) continue;
    planner_.on_failed(key);
    fail_job(key, message);
  }
}

void Runner::fail_job(sched::JobKey key, const std::string& message, ErrorCode code) {
  fail_job(key, {.code = code, .message = message});
}

void Runner::fail_job(sched::JobKey key, Problem problem) {
  events_.emplace_back(
      engine::JobFailed{.job = {key.id}, .gen = key.gen, .problem = std::move(problem)});
  planner_.on_end(key);
  jobs_.erase(key);
}

}  // namespace seedance::llama
