#include "server/deadlines.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace seedance::server {

TimePoint coarse(TimePoint at, TimePoint now) {
  if (at == kNever || at - now < kFar) return at;
  const Duration since = at.time_since_epoch();
  const Duration over = since % kCoarseTick;
  return over == Duration::zero() ? at : at + (kCoarseTick - over);
}

std::optional<TimePoint> sooner_entry(TimePoint at, TimePoint entry, TimePoint now) {
  if (at >= entry) return std::nullopt;
  const TimePoint wanted = coarse(at, now);
  return wanted < entry ? std::optional{wanted} : std::nullopt;
}

Deadlines::Deadlines() : nodes_(kFirstPlace) {
  for (Ring ring = 0; ring < kFirstPlace; ++ring) {
    nodes_[ring] = {.next = ring, .previous = ring};
  }
}

// The first tick that is not before `at`.
std::uint64_t Deadlines::tick_at(TimePoint at) {
  const std::int64_t since = at.time_since_epoch().count();
  if (since <= 0) return 0;
  return ((static_cast<std::uint64_t>(since) - 1) >> kTickBits) + 1;
}

TimePoint Deadlines::time_of(std::uint64_t tick) {
  constexpr auto kEnd = static_cast<std::uint64_t>(Duration::max().count()) >> kTickBits;
  if (tick > kEnd) return kNever;
  return TimePoint{Duration{static_cast<std::int64_t>(tick << kTickBits)}};
}

void Deadlines::set(std::uint32_t place, TimePoint at) {
  const std::uint32_t node = kFirstPlace + place;
  while (nodes_.size() <= node) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.next = next, .previous = next});
  }
  if (linked(node)) unlink(node);
  nodes_[node].tick = tick_at(at);
  insert(node);
}

void Deadlines::erase(std::uint32_t place) {
  const std::uint32_t node = kFirstPlace + place;
  if (node < nodes_.size() && linked(node)) unlink(node);
}

TimePoint Deadlines::next() const {
  if (!empty(kMoving) || !empty(kDue)) return time_of(passed_);
  const Ring slot = first_slot();
  return slot == kMoving ? kNever : time_of(nodes_[slot].tick);
}

void Deadlines::take(TimePoint now, std::size_t moves_max, std::vector<std::uint32_t>& due) {
  const std::int64_t since = std::max<std::int64_t>(now.time_since_epoch().count(), 0);
  const std::uint64_t tick = static_cast<std::uint64_t>(since) >> kTickBits;
  for (std::size_t moves = 0; moves < moves_max;) {
    const Ring from = empty(kMoving) ? kDue : kMoving;
    if (empty(from)) {
      const Ring slot = first_slot();
      if (slot == kMoving || nodes_[slot].tick > tick) return pass_to(tick);
      empty_into_moving(slot);
      continue;
    }
    const std::uint32_t node = nodes_[from].next;
    unlink(node);
    ++moves;
    if (nodes_[node].tick <= tick) {
      due.push_back(node - kFirstPlace);
    } else {
      insert(node);
    }
  }
}

// kMoving if there is none.
Deadlines::Ring Deadlines::first_slot() const {
  for (std::uint32_t wheel = 0; wheel < kWheels; ++wheel) {
    if (filled_[wheel] == 0) continue;
    return (wheel * kSlots) + static_cast<std::uint32_t>(std::countr_zero(filled_[wheel]));
  }
  return kMoving;
}

void Deadlines::insert(std::uint32_t node) {
  const std::uint64_t tick = nodes_[node].tick;
  if (tick <= passed_) return append(node, kDue);
  const auto top = static_cast<unsigned>(std::bit_width(tick ^ passed_)) - 1;
  const std::uint32_t wheel = top / kSlotBits;
  const auto at = static_cast<std::uint32_t>(tick >> (wheel * kSlotBits)) % kSlots;
  const Ring slot = (wheel * kSlots) + at;
  std::uint64_t& first = nodes_[slot].tick;
  first = empty(slot) ? tick : std::min(first, tick);
  filled_[wheel] |= std::uint64_t{1} << at;
  append(node, slot);
}

void Deadlines::append(std::uint32_t node, Ring ring) {
  const std::uint32_t last = nodes_[ring].previous;
  nodes_[node].next = ring;
  nodes_[node].previous = last;
  nodes_[last].next = node;
  nodes_[ring].previous = node;
}

void Deadlines::unlink(std::uint32_t node) {
  const std::uint32_t next = nodes_[node].next;
  nodes_[nodes_[node].previous].next = next;
  nodes_[next].previous = nodes_[node].previous;
  nodes_[node].next = nodes_[node].previous = node;
  if (next < kMoving && empty(next)) {  // A slot has no other left.
    filled_[next / kSlots] &= ~(std::uint64_t{1} << (next % kSlots));
  }
}

// What is in other slots is later than the first in this one.
void Deadlines::empty_into_moving(Ring slot) {
  passed_ = nodes_[slot].tick;
  const std::uint32_t first = nodes_[slot].next;
  const std::uint32_t last = nodes_[slot].previous;
  nodes_[kMoving].next = first;
  nodes_[kMoving].previous = last;
  nodes_[first].previous = nodes_[last].next = kMoving;
  nodes_[slot].next = nodes_[slot].previous = slot;
  filled_[slot / kSlots] &= ~(std::uint64_t{1} << (slot % kSlots));
}

// Up to the slot that comes first, not into it: the lower wheels are free for what is set.
void Deadlines::pass_to(std::uint64_t tick) {
  const Ring slot = first_slot();
  if (slot != kMoving) {
    const unsigned shift = (slot / kSlots) * kSlotBits;
    tick = std::min(tick, ((nodes_[slot].tick >> shift) << shift) - 1);
  }
  passed_ = std::max(passed_, tick);
}

}  // namespace seedance::server
