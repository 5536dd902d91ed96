// The part of BatchPlanner that takes slots away.
#include <algorithm>
#include <limits>
#include <utility>

#include "sched/batch_planner.h"

namespace seedance::sched {

// The newest of the lowest class, but nobody who has just come.
std::optional<std::uint32_t> BatchPlanner::first_to_leave() const {
  std::optional<std::uint32_t> last;
  const auto order = [this](std::uint32_t slot) {
    return std::pair{jobs_[slot]->claim.hold(), jobs_[slot]->arrival};
  };
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!jobs_[slot] || jobs_[slot]->fresh) continue;
    if (!last || order(slot) > order(*last)) last = slot;
  }
  return last;
}

BatchPlanner::Waiting BatchPlanner::take_out(std::uint32_t slot) {
  save(slot);
  Waiting job = vacate(slot);
  ++job.claim.parks;
  ++parked_;
  return job;
}

// Where that is better than computing it again.
void BatchPlanner::save(std::uint32_t slot) {
  const Running& job = *jobs_[slot];
  forget_saved(job.job);
  const std::uint32_t tokens = slots_.computed({slot});
  const auto saving = park_.save({.job = job.job,
                                  .priority = job.claim.priority,
                                  .tokens = tokens,
                                  .lost = tokens - slots_.elsewhere({slot}),
                                  .reused = slots_.reused({slot})},
                                 budget_.token_ns());
  if (!saving) return;
  for (const Slot place : saving->dropped) slots_.drop(place);
  slots_.save({slot}, saving->place);
  moving_ns_ += park_.save_ns(tokens);
}

void BatchPlanner::forget_saved(JobKey job) {
  if (const auto place = park_.drop(job)) slots_.drop(*place);
}

// Who leaves it keeps its place in the order of arrival. What it had computed stays where it is,
// for whoever can use it, unless that is in the way.
BatchPlanner::Waiting BatchPlanner::vacate(std::uint32_t slot) {
  const Running running = *std::exchange(jobs_[slot], std::nullopt);
  --running_;
  const auto known = slots_.tokens({slot});
  Waiting job{.job = running.job,
              .arrival = running.arrival,
              .tokens = {known.begin(), known.end()},
              .scope = running.scope,
              .claim = running.claim,
              .tokens_max = running.tokens_max};
  hold_ ? static_cast<void>(slots_.clear({slot})) : slots_.leave({slot});
  return job;
}

// How many tokens of prompts are computed in that time.
std::uint32_t BatchPlanner::as_tokens(double ns) const {
  constexpr double kAll = std::numeric_limits<std::int32_t>::max();
  return budget_.token_ns() == 0
             ? 0
             : static_cast<std::uint32_t>(std::min(ns / budget_.token_ns(), kAll));
}

bool BatchPlanner::on_moved(const KvMove& move) {
  const auto& [slot, from, tokens] = move.change;
  if (in_host(slot)) {
    move.done ? park_.on_saved(slot, move.took) : park_.on_not_saved(slot);
    return true;
  }
  if (!move.done) return on_not_restored(move.change);
  park_.on_restored(from, move.took);
  slots_.on_restored(slot);
  ++restored_;
  return true;
}

// Where all share their room, that may be what it lacked: then the job waits for some, unless
// nobody else would make it. Else it is computed again.
bool BatchPlanner::on_not_restored(const KvChange& change) {
  const std::uint32_t slot = change.slot.value;
  const JobKey job = jobs_[slot]->job;
  const bool shared = limits_.gap_max == 0 && park_.find(job);
  if (shared && slots_.evict()) {
    slots_.restore(change.slot, change.from);
  } else if (shared && running_ > 1) {
    hold_ = true;
    waiting_.push_back(vacate(slot));
  } else {
    forget_saved(job);
    slots_.on_not_restored(change.slot);
  }
  return false;
}

bool BatchPlanner::on_no_room() {
  bool guessed = false;
  for (auto& job : jobs_) guessed = (job && std::exchange(job->drafted, 0) > 0) || guessed;
  if (guessed) return known_only_ = true;
  if (slots_.evict()) return true;
  if (running_ < 2) return false;
  hold_ = true;
  for (auto& job : jobs_) {
    if (job) job->fresh = false;
  }
  waiting_.push_back(take_out(*first_to_leave()));
  return true;
}

}  // namespace seedance::sched
