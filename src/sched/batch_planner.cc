#include "sched/batch_planner.h"

#include <algorithm>
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
      budget_(limits.prefill),
      jobs_(limits.sequences_max) {
  SEEDANCE_CHECK(limits.batch_tokens_max > limits.sequences_max,
                 "while every sequence but one decodes in a batch, that one's prompt goes on");
}

void BatchPlanner::add(JobKey job, std::vector<TokenId> tokens, std::uint64_t scope) {
  SEEDANCE_CHECK(!tokens.empty(), "a sequence begins with a token");
  waiting_.push_back(
      {.job = job, .arrival = arrivals_++, .tokens = std::move(tokens), .scope = scope});
}

bool BatchPlanner::cancel(JobKey job) {
  if (const auto slot = slot_of(job)) {
    slots_.leave({*slot});
    leave(*slot);
    return true;
  }
  return std::erase_if(waiting_, [&](const Waiting& each) { return each.job == job; }) > 0;
}

std::span<const Part> BatchPlanner::plan() {
  parts_.clear();
  for (auto& job : jobs_) {
    if (job) job->planned = job->placed = 0;
  }
  admit(prompt_room());
  deal(prompt_room());  // Of those who came in, some may decode at once.
  place_decoding();
  place_prompts();
  return parts_;
}

std::uint32_t BatchPlanner::pending(std::uint32_t slot) const {
  return static_cast<std::uint32_t>(slots_.tokens({slot}).size()) - slots_.computed({slot});
}

bool BatchPlanner::decodes(std::uint32_t slot) const {
  return jobs_[slot] && slots_.computed({slot}) > 0 && pending(slot) == 1;
}

bool BatchPlanner::prefills(std::uint32_t slot) const {
  return jobs_[slot] && !decodes(slot);
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
  return std::min(
      limits_.batch_tokens_max - (limits_.gap_max > 0 ? end - first : decoding),
      budget_.tokens(decoding, static_cast<std::uint32_t>(running_ + waiting_.size()) - decoding));
}

// Gives free slots to those who wait, as long as this batch has room for a token of each and
// for what it takes to copy their prefixes, and what is in their way.
void BatchPlanner::admit(std::uint32_t room) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    if (hold_ || room == 0 || running_ == jobs_.size()) return;
    if (next->passes < kPassesMax && slots_.comes_soon(next->tokens, next->scope)) {
      ++next->passes;
      ++next;
      continue;
    }
    const std::uint32_t slot = slots_.enter(std::move(next->tokens), next->scope)->value;
    jobs_[slot] = {.job = next->job, .arrival = next->arrival, .scope = next->scope};
    next = waiting_.erase(next);
    ++running_;
    room -= std::min(room, 1 + (slots_.take_copied() / kCopiedPerComputed));
  }
}

// Deals the room out among prompts: to the oldest half of it, so that it comes to its end,
// and the rest to those that have least left, so that nobody waits for another's long one.
void BatchPlanner::deal(std::uint32_t room) {
  std::vector<std::uint32_t> prompts;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (prefills(slot)) prompts.push_back(slot);
  }
  if (prompts.empty()) return;
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
}

void BatchPlanner::place_decoding() {
  std::optional<std::uint32_t> previous;
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!decodes(slot)) continue;
    if (previous) bridge(*previous + 1, slot);
    jobs_[slot]->planned = 1;
    place(slot, 1);
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
  std::uint32_t decoding = 0;
  std::uint32_t prompt_tokens = 0;
  for (const Part& part : parts_) {
    (part.filler || decodes(part.slot.value) ? decoding : prompt_tokens) += part.count;
  }
  budget_.on_step(decoding, prompt_tokens, took);
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (jobs_[slot]) slots_.on_computed({slot}, std::exchange(jobs_[slot]->placed, 0));
  }
}

void BatchPlanner::on_token(Slot slot, TokenId token) {
  SEEDANCE_CHECK(jobs_[slot.value] && pending(slot.value) == 0,
                 "a token follows when all before it are computed");
  slots_.append(slot, token);
}

void BatchPlanner::on_end(JobKey job) {
  cancel(job);
}

void BatchPlanner::on_failed(JobKey job) {
  const auto slot = slot_of(job);
  if (!slot) return;
  slots_.clear({*slot});
  leave(*slot);
}

bool BatchPlanner::on_no_room() {
  if (slots_.evict()) return true;
  if (running_ < 2) return false;
  const auto age = [](const auto& job) { return job ? job->arrival + 1 : 0; };
  const auto newest = std::ranges::max_element(jobs_, {}, age);
  const auto slot = static_cast<std::uint32_t>(newest - jobs_.begin());
  waiting_.push_front({.job = (*newest)->job,
                       .arrival = (*newest)->arrival,
                       .tokens = slots_.clear({slot}),
                       .scope = (*newest)->scope});
  leave(slot);
  hold_ = true;
  return true;
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
