#include "sched/batch_planner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "base/check.h"

namespace seedance::sched {
namespace {

// So often a job lets others pass: whoever computes its prefix may itself have to wait.
constexpr std::uint32_t kPassesMax = 32;

}  // namespace

BatchPlanner::BatchPlanner(PlannerLimits limits)
    : limits_(limits),
      slots_({.count = limits.sequences_max,
              .reuse_min = limits.reuse_min,
              .dense = limits.gap_max > 0}),
      park_({.bytes_max = limits.park_bytes_max,
             .sequence = limits.sequence_bytes,
             .first_place = limits.sequences_max}),
      budget_(limits.prefill),
      model_draft_(limits.sequences_max),
      jobs_(limits.sequences_max) {
  SEEDANCE_CHECK(limits.batch_tokens_max > limits.sequences_max,
                 "while every sequence but one decodes in a batch, that one's prompt goes on");
}

void BatchPlanner::add(NewJob job) {
  SEEDANCE_CHECK(!job.tokens.empty(), "a sequence begins with a token");
  waiting_.push_back({.job = job.key,
                      .arrival = job.goes_on ? returns_++ : arrivals_++,
                      .tokens = std::move(job.tokens),
                      .scope = job.scope,
                      .claim = {.priority = job.priority},
                      .tokens_max = job.tokens_max});
}

bool BatchPlanner::cancel(JobKey job) {
  forget_saved(job);
  if (const auto slot = slot_of(job)) {
    drop_draft(*slot);
    slots_.leave({*slot});
    leave(*slot);
    return true;
  }
  return wait_no_more(job);
}

std::span<const Part> BatchPlanner::plan() {
  parts_.clear();
  const bool known_only = std::exchange(known_only_, false);
  for (auto& job : jobs_) {
    // The plan before may not have been carried out: a restore failed.
    if (job) job->planned = job->placed = job->drafted = 0;
  }
  by_model_ = false;
  model_draft_.drop_work();  // Of a plan that was not carried out.
  choose_turn();
  admit(prompt_room());
  choose_turn();  // Who came in may go ahead.
  const auto pause = pauses();
  paused_ = pause.has_value();
  deal(pause ? std::min(limits_.batch_tokens_max, budget_.pause_tokens()) : prompt_room(),
       pause.value_or(kPriorities.back()));
  if (!pause) place_decoding(known_only ? 0 : draft());
  place_prompts();
  counted_ = true;
  return parts_;
}

std::uint32_t BatchPlanner::pending(std::uint32_t slot) const {
  return static_cast<std::uint32_t>(slots_.tokens({slot}).size()) - slots_.computed({slot});
}

// To say something since it came in: only its newest token is to be computed. Before that
// it is a prompt, however short, and waits for nobody else's.
bool BatchPlanner::has_begun(std::uint32_t slot) const {
  return jobs_[slot]->begun && pending(slot) == 1;
}

bool BatchPlanner::in_turn(std::uint32_t slot) const {
  return jobs_[slot] && jobs_[slot]->scope.adapter == turn_.adapter;
}

bool BatchPlanner::decodes(std::uint32_t slot) const {
  return in_turn(slot) && has_begun(slot);
}

bool BatchPlanner::prefills(std::uint32_t slot) const {
  return in_turn(slot) && !has_begun(slot);
}

void BatchPlanner::choose_turn() {
  std::vector<Turns::Claim> claims;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!jobs_[slot]) continue;
    const std::uint32_t adapter = jobs_[slot]->scope.adapter;
    auto claim = std::ranges::find(claims, adapter, &Turns::Claim::adapter);
    if (claim == claims.end()) claim = claims.insert(claim, {.adapter = adapter});
    const Priority priority = jobs_[slot]->claim.turn();
    claim->highest = std::min(claim->highest, priority);
    if (has_begun(slot)) continue;
    claim->highest_prompt = std::min(claim->highest_prompt.value_or(priority), priority);
  }
  if (!claims.empty()) turn_ = turns_.next(claims);
}

// What decoding sequences, and the bridges between them, leave of a batch.
std::uint32_t BatchPlanner::prompt_room() const {
  std::uint32_t decoding = 0;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!decodes(slot)) continue;
    if (decoding++ == 0) first = slot;
    end = slot + 1;
  }
  return std::min(limits_.batch_tokens_max - (limits_.gap_max > 0 ? end - first : decoding),
                  prompt_time(decoding));
}

// How many tokens of prompts the batch has time for. Those who decode with other adapters wait
// for it, too: so each adapter gets its part of the time.
std::uint32_t BatchPlanner::prompt_time(std::uint32_t decoding) const {
  std::map<std::uint32_t, std::uint32_t> others;  // How many decode with them.
  std::uint32_t all = decoding;
  std::uint32_t most = 0;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!jobs_[slot] || in_turn(slot)) continue;
    std::uint32_t& count = others[jobs_[slot]->scope.adapter];
    if (!has_begun(slot)) continue;
    ++all;
    most = std::max(most, ++count);
  }
  const auto turns = static_cast<std::uint32_t>(others.size()) + 1;
  const std::uint32_t time = budget_.tokens(decoding > 0 ? decoding : most, still_waiting(all));
  // Every prompt comes to its end; and where nobody decodes, a step without one tells nothing.
  const std::uint32_t least = limits_.prefill.tokens_min;
  const bool with_none = decoding > 0 || most == 0;
  return std::max(time / turns, with_none ? std::min(time, least) : least);
}

// For their first token.
std::uint32_t BatchPlanner::still_waiting(std::uint32_t decoding) const {
  return static_cast<std::uint32_t>(running_ + waiting_.size()) - decoding;
}

// Whether those who decode pause, and for what classes: for none that is lower than theirs. Nobody
// does where adapters take turns.
std::optional<Priority> BatchPlanner::pauses() const {
  std::uint32_t decoding = 0;
  Priority highest = kPriorities.back();  // Of those who decode.
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (jobs_[slot] && !in_turn(slot)) return std::nullopt;
    if (!decodes(slot)) continue;
    ++decoding;
    highest = std::min(highest, jobs_[slot]->claim.turn());
  }
  std::uint32_t wanted = 0;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (prefills(slot) && jobs_[slot]->claim.turn() <= highest) wanted += pending(slot);
  }
  const bool pause = budget_.pauses(decoding, still_waiting(decoding), wanted);
  return pause ? std::optional{highest} : std::nullopt;
}

// Gives slots to those who wait, as long as this batch has room for a token of each and
// for what it takes to copy their prefixes, and what is in their way.
void BatchPlanner::admit(std::uint32_t room) {
  std::ranges::sort(waiting_, {},
                    [](const Waiting& each) { return std::pair{each.claim.turn(), each.arrival}; });
  std::vector<Waiting> parked;
  std::uint64_t newest = 0;
  for (auto next = waiting_.begin(); next != waiting_.end() && room > 0;) {
    const bool free = !hold_ && running_ < jobs_.size();
    const auto other = free ? std::nullopt : first_to_leave();
    const bool may = free || (other && jobs_[*other]->claim.hold() > next->claim.priority);
    if (!may || lets_pass(*next)) {
      if (may && !counted_) ++next->passes;
      ++next;
      continue;
    }
    if (other) parked.push_back(take_out(*other));
    newest = std::max(newest, next->arrival);
    room -= std::min(room, enter(*next));
    next = waiting_.erase(next);
  }
  for (Waiting& each : waiting_) {
    each.claim.overtaken += !counted_ && each.arrival < newest ? 1 : 0;
  }
  std::ranges::move(parked, std::back_inserter(waiting_));
}

// Whoever has a lower class computes the prefix when its turn comes, and that may be late.
bool BatchPlanner::lets_pass(const Waiting& job) const {
  if (job.passes == kPassesMax || park_.find(job.job)) return false;
  const auto computing = slots_.comes_soon(job.tokens, job.scope);
  return computing && jobs_[computing->value]->claim.priority <= job.claim.priority;
}

// What that takes of the batch's room, with what made room for it.
std::uint32_t BatchPlanner::enter(Waiting& job) {
  auto saved = park_.find(job.job);
  const double restore_ns = saved ? park_.restore_ns(saved->tokens) : 0;
  if (saved && saved->tokens <= slots_.found(job.tokens, job.scope) + as_tokens(restore_ns)) {
    forget_saved(job.job);
    saved.reset();
  }
  if (saved) moving_ns_ += restore_ns;
  const std::uint32_t slot = slots_.enter(std::move(job.tokens), job.scope, saved)->value;
  jobs_[slot] = {.job = job.job,
                 .arrival = job.arrival,
                 .scope = job.scope,
                 .claim = job.claim,
                 .tokens_max = job.tokens_max,
                 .modelled = model_draft_.new_guess()};
  ++running_;
  return 1 + (slots_.take_copied() / kCopiedPerComputed) + as_tokens(std::exchange(moving_ns_, 0));
}

// Those of a higher class come first, and classes below `lowest` get nothing.
void BatchPlanner::deal(std::uint32_t room, Priority lowest) {
  std::uint64_t newest = 0;  // Of those of higher classes that got something.
  for (const Priority turn : kPriorities) {
    std::vector<std::uint32_t> prompts;
    for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
      if (prefills(slot) && jobs_[slot]->claim.turn() == turn) prompts.push_back(slot);
    }
    if (prompts.empty()) continue;
    if (turn <= lowest) room = deal(prompts, room);
    for (const std::uint32_t slot : prompts) {
      Running& job = *jobs_[slot];
      job.claim.overtaken += !counted_ && job.planned == 0 && job.arrival < newest ? 1 : 0;
    }
    for (const std::uint32_t slot : prompts) {
      if (jobs_[slot]->planned > 0) newest = std::max(newest, jobs_[slot]->arrival);
    }
  }
}

// Deals the room out among prompts: to the oldest half of it, so that it comes to its end,
// and the rest to those that have least left, so that nobody waits for another's long one.
// Gives back what is left.
std::uint32_t BatchPlanner::deal(std::vector<std::uint32_t>& prompts, std::uint32_t room) {
  const auto give = [&](std::uint32_t slot, std::uint32_t most) {
    const std::uint32_t given = std::min({room, most, pending(slot) - jobs_[slot]->planned});
    jobs_[slot]->planned += given;
    room -= given;
  };
  const auto arrival = [this](std::uint32_t slot) { return jobs_[slot]->arrival; };
  give(*std::ranges::min_element(prompts, {}, arrival), (room + 1) / 2);
  std::ranges::sort(prompts, {},
                    [&](std::uint32_t slot) { return std::pair{pending(slot), arrival(slot)}; });
  for (const std::uint32_t slot : prompts) give(slot, room);
  return room;
}

// How many guesses each of those that decode gets: as many as all others, as all of a pass
// have the same number of rows. None where the step is one that PrefillBudget wants to see.
std::uint32_t BatchPlanner::draft() {
  std::vector<std::uint32_t> decoding;
  std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (jobs_[slot] && jobs_[slot]->planned > 0) return 0;
    if (!decodes(slot)) continue;
    const auto known = static_cast<std::uint32_t>(slots_.tokens({slot}).size());
    most = std::min(most, jobs_[slot]->tokens_max - std::min(jobs_[slot]->tokens_max, known));
    decoding.push_back(slot);
  }
  const auto count = static_cast<std::uint32_t>(decoding.size());
  if (count == 0 || count > limits_.draft_tokens_max) return 0;
  const std::uint32_t room = prompt_room();
  if (room == 0) return 0;
  if (limits_.gap_max > 0 && decoding.back() - decoding.front() + 1 != count) return 0;
  most = std::min({most, limits_.batch_tokens_max / count, 1 + (limits_.draft_tokens_max / count)});
  return most < 2 ? 0 : draft(decoding, most, room);
}

// By whatever promises more.
std::uint32_t BatchPlanner::draft(std::span<const std::uint32_t> decoding, std::uint32_t rows_max,
                                  std::uint32_t room) {
  const auto count = static_cast<std::uint32_t>(decoding.size());
  std::vector<double> chances;
  std::vector<ModelDraft::Sequence> sequences;
  for (const std::uint32_t slot : decoding) {
    Running& job = *jobs_[slot];
    const auto tokens = slots_.tokens({slot});
    if (limits_.draft_ngrams && !job.repeats.guess(tokens, rows_max - 1).empty()) {
      chances.push_back(job.repeats.chance());
    }
    sequences.push_back({.slot = {slot},
                         .tokens = tokens,
                         .chance = job.modelled.chance(),
                         .open = !job.modelled.rest().empty()});
  }
  const auto by_repeats = draft_budget_.choose(count, rows_max, chances);
  if (!limits_.draft_model || turn_.adapter != 0) return by_repeats.rows - 1;
  const auto by_model =
      model_draft_.plan(sequences, draft_budget_, rows_max, by_repeats.speed, room);
  by_model_ = by_model.rows > 1;
  return (by_model_ ? by_model : by_repeats).rows - 1;
}

void BatchPlanner::on_drafted(std::span<const std::vector<TokenId>> guesses, Duration took) {
  const auto work = draft_work();
  for (std::size_t at = 0; at < work.size(); ++at) {
    if (work[at].guesses > 0) jobs_[work[at].slot.value]->modelled.set(guesses[at]);
  }
  model_draft_.on_drafted(guesses, took);
}

std::span<const TokenId> BatchPlanner::guess(Slot slot) const {
  const Running& job = *jobs_[slot.value];
  return by_model_ ? job.modelled.rest() : job.repeats.rest();
}

// What of it is in memory is not known to be right.
void BatchPlanner::drop_draft(std::uint32_t slot) {
  if (std::exchange(jobs_[slot]->drafted, 0) > 0) slots_.cut({slot});
}

void BatchPlanner::place_decoding(std::uint32_t drafted) {
  std::optional<std::uint32_t> previous;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!decodes(slot)) continue;
    if (previous) bridge(*previous + 1, slot);
    jobs_[slot]->planned = 1;
    place(slot, 1);
    jobs_[slot]->drafted = parts_.back().drafted = drafted;
    previous = slot;
  }
}

// One token of each of the slots [begin, end), none of which decodes, if all have one.
void BatchPlanner::bridge(std::uint32_t begin, std::uint32_t end) {
  if (end - begin > limits_.gap_max) return;
  for (std::uint32_t slot = begin; slot < end; ++slot) {
    if (jobs_[slot] && jobs_[slot]->planned == 0) return;
  }
  for (std::uint32_t slot = begin; slot < end; ++slot) {
    jobs_[slot] ? place(slot, 1) : fill(slot);
  }
}

void BatchPlanner::place_prompts() {
  const auto left = [&](std::uint32_t slot) {
    return jobs_[slot] ? jobs_[slot]->planned - jobs_[slot]->placed : 0;
  };
  std::vector<std::uint32_t> alone;
  for (std::uint32_t slot = 0; slot < jobs_.size();) {
    const std::uint32_t count = left(slot);
    std::uint32_t end = slot + 1;
    while (end < jobs_.size() && left(end) == count) ++end;
    if (count > 0 && end - slot == 1) alone.push_back(slot);
    if (count > 0 && end - slot > 1) {
      for (std::uint32_t each = slot; each < end; ++each) place(each, count);
    }
    slot = end;
  }
  for (const std::uint32_t slot : std::views::reverse(alone)) place(slot, left(slot));
}

void BatchPlanner::place(std::uint32_t slot, std::uint32_t count) {
  Running& running = *jobs_[slot];
  const std::uint32_t begin = slots_.computed({slot}) + running.placed;
  parts_.push_back({.slot = {slot},
                    .job = running.job,
                    .begin = begin,
                    .count = count,
                    .last = begin + count == slots_.tokens({slot}).size()});
  running.placed += count;
}

// Behind what the slot holds.
void BatchPlanner::fill(std::uint32_t slot) {
  parts_.push_back(
      {.slot = {slot}, .job = {}, .begin = slots_.computed({slot}), .count = 1, .filler = true});
}

void BatchPlanner::on_computed(Duration took) {
  counted_ = false;
  for (auto& job : jobs_) {
    if (job) job->fresh = false;
  }
  std::uint32_t decoding = 0;
  std::uint32_t fillers = 0;  // Not of those who decode: PrefillBudget is not asked for them.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t drafted = 0;
  for (const Part& part : parts_) {
    const bool decodes_here = !part.filler && decodes(part.slot.value);
    (part.filler ? fillers : decodes_here ? decoding : prompt_tokens) += part.count;
    drafted += part.drafted;
    if (part.drafted == 0) continue;
    drafts_.tokens += std::min(part.drafted, static_cast<std::uint32_t>(guess(part.slot).size()));
  }
  if (paused_) {
    budget_.on_pause(prompt_tokens, took);
  } else if (drafted > 0) {
    budget_.on_guessing();
  } else {
    budget_.on_step(decoding, prompt_tokens, took);
  }
  if (prompt_tokens == 0) draft_budget_.on_step(decoding + fillers + drafted, took);
  model_draft_.on_computed(took);
  turns_.on_taken(turn_);
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (jobs_[slot]) slots_.on_computed({slot}, std::exchange(jobs_[slot]->placed, 0));
  }
}

bool BatchPlanner::on_token(Slot slot, TokenId token) {
  SEEDANCE_CHECK(jobs_[slot.value] && pending(slot.value) == 0,
                 "a token follows when all before it are computed");
  slots_.append(slot, token);
  Running& job = *jobs_[slot.value];
  job.begun = true;
  const bool repeats = job.repeats.on_token(token);
  const bool judged = !job.modelled.rest().empty();
  const bool modelled = job.modelled.on_token(token);
  if (judged) model_draft_.on_judged(modelled);
  const bool right = by_model_ ? modelled : repeats;
  if (!right || job.drafted == 0) {
    drop_draft(slot.value);
    return false;
  }
  slots_.on_computed(slot, 1);
  --job.drafted;
  ++drafts_.accepted;
  return true;
}

void BatchPlanner::on_end(JobKey job) {
  cancel(job);
}

void BatchPlanner::on_failed(JobKey job) {
  forget_saved(job);
  counted_ = false;
  const auto slot = slot_of(job);
  if (!slot) return static_cast<void>(wait_no_more(job));
  slots_.clear({*slot});
  leave(*slot);
}

// Whether it did.
bool BatchPlanner::wait_no_more(JobKey job) {
  return std::erase_if(waiting_, [&](const Waiting& each) { return each.job == job; }) > 0;
}

void BatchPlanner::leave(std::uint32_t slot) {
  jobs_[slot].reset();
  --running_;
  hold_ = false;
}

std::optional<std::uint32_t> BatchPlanner::slot_of(JobKey job) const {
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (jobs_[slot] && jobs_[slot]->job == job) return slot;
  }
  return std::nullopt;
}

}  // namespace seedance::sched
