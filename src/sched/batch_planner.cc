#include "sched/batch_planner.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"

namespace seedance::sched {

BatchPlanner::BatchPlanner(PlannerLimits limits) : limits_(limits), slots_(limits.sequences_max) {
  SEEDANCE_CHECK(limits.sequences_max > 0, "there is a slot");
  SEEDANCE_CHECK(limits.batch_tokens_max >= limits.sequences_max,
                 "every sequence can decode in one batch");
}

void BatchPlanner::add(JobKey job, std::uint32_t tokens) {
  SEEDANCE_CHECK(tokens > 0, "a sequence begins with a token");
  waiting_.push_back({.job = job, .arrival = arrivals_++, .tokens = tokens});
}

bool BatchPlanner::cancel(JobKey job) {
  if (const auto slot = slot_of(job)) {
    leave(*slot);
    return true;
  }
  return std::erase_if(waiting_, [&](const Sequence& each) { return each.job == job; }) > 0;
}

std::span<const Part> BatchPlanner::plan() {
  parts_.clear();
  for (auto& sequence : slots_) {
    if (sequence) sequence->planned = sequence->placed = 0;
  }
  const std::uint32_t room = prompt_room();
  admit(room);
  deal(room);
  place_decoding();
  place_prompts();
  return parts_;
}

// What decoding sequences, and the bridges between them, leave of a batch.
std::uint32_t BatchPlanner::prompt_room() const {
  std::uint32_t decoding = 0;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot] || !slots_[slot]->decodes()) continue;
    if (decoding++ == 0) first = slot;
    end = slot + 1;
  }
  return limits_.batch_tokens_max - (limits_.gap_max > 0 ? end - first : decoding);
}

// Gives free slots to those who wait, as long as this batch has room for a token of theirs.
void BatchPlanner::admit(std::uint32_t room) {
  for (const auto& sequence : slots_) {
    if (sequence && !sequence->decodes()) room -= std::min(room, sequence->pending());
  }
  for (auto& sequence : slots_) {
    if (hold_ || waiting_.empty() || room == 0) return;
    if (sequence) continue;
    sequence = waiting_.front();
    waiting_.pop_front();
    ++running_;
    room -= std::min(room, sequence->pending());
  }
}

// Deals the room out among prompts, oldest first.
void BatchPlanner::deal(std::uint32_t room) {
  std::vector<Sequence*> prompts;
  for (auto& sequence : slots_) {
    if (sequence && !sequence->decodes()) prompts.push_back(&*sequence);
  }
  std::ranges::sort(prompts, {}, &Sequence::arrival);
  for (Sequence* prompt : prompts) {
    prompt->planned = std::min(room, prompt->pending());
    room -= prompt->planned;
  }
}

void BatchPlanner::place_decoding() {
  std::optional<std::uint32_t> previous;
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    auto& sequence = slots_[slot];
    if (!sequence || !sequence->decodes()) continue;
    if (previous) bridge(*previous + 1, slot);
    sequence->planned = 1;
    place(slot, 1);
    previous = slot;
  }
}

// One token of each of the slots [begin, end), none of which decodes, if all have one.
void BatchPlanner::bridge(std::uint32_t begin, std::uint32_t end) {
  if (end - begin > limits_.gap_max) return;
  for (std::uint32_t slot = begin; slot < end; ++slot) {
    if (slots_[slot] && slots_[slot]->planned == 0) return;
  }
  for (std::uint32_t slot = begin; slot < end; ++slot) {
    if (slots_[slot]) {
      place(slot, 1);
    } else {
      parts_.push_back({.slot = {slot}, .job = {}, .count = 1, .filler = true});
    }
  }
}

void BatchPlanner::place_prompts() {
  const auto left = [&](std::uint32_t slot) {
    return slots_[slot] ? slots_[slot]->planned - slots_[slot]->placed : 0;
  };
  std::vector<std::uint32_t> alone;
  for (std::uint32_t slot = 0; slot < slots_.size();) {
    const std::uint32_t count = left(slot);
    std::uint32_t end = slot + 1;
    while (end < slots_.size() && left(end) == count) ++end;
    if (count > 0 && end - slot == 1) alone.push_back(slot);
    if (count > 0 && end - slot > 1) {
      for (std::uint32_t each = slot; each < end; ++each) place(each, count);
    }
    slot = end;
  }
  for (const std::uint32_t slot : std::views::reverse(alone)) place(slot, left(slot));
}

void BatchPlanner::place(std::uint32_t slot, std::uint32_t count) {
  Sequence& sequence = *slots_[slot];
  const std::uint32_t begin = sequence.computed + sequence.placed;
  parts_.push_back({.slot = {slot},
                    .job = sequence.job,
                    .begin = begin,
                    .count = count,
                    .last = begin + count == sequence.tokens});
  sequence.placed += count;
}

void BatchPlanner::on_computed() {
  for (auto& sequence : slots_) {
    if (sequence) sequence->computed += std::exchange(sequence->placed, 0);
  }
}

void BatchPlanner::on_token(Slot slot) {
  SEEDANCE_CHECK(slots_[slot.value] && slots_[slot.value]->pending() == 0,
                 "a token follows when all before it are computed");
  ++slots_[slot.value]->tokens;
}

void BatchPlanner::on_end(JobKey job) {
  cancel(job);
}

std::optional<JobKey> BatchPlanner::on_no_room() {
  if (running_ < 2) return std::nullopt;
  const auto age = [](const auto& sequence) { return sequence ? sequence->arrival + 1 : 0; };
  const auto newest = std::ranges::max_element(slots_, {}, age);
  Sequence sequence = **newest;
  sequence.computed = sequence.planned = sequence.placed = 0;
  leave(static_cast<std::uint32_t>(newest - slots_.begin()));
  waiting_.push_front(sequence);
  hold_ = true;
  return sequence.job;
}

std::vector<Slot> BatchPlanner::take_freed() {
  return std::exchange(freed_, {});
}

void BatchPlanner::leave(std::uint32_t slot) {
  slots_[slot].reset();
  freed_.push_back({slot});
  --running_;
  hold_ = false;
}

std::optional<std::uint32_t> BatchPlanner::slot_of(JobKey job) const {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot] && slots_[slot]->job == job) return slot;
  }
  return std::nullopt;
}

}  // namespace seedance::sched
