#include "core/waiting_line.h"

#include <iterator>

namespace seedance::core {

void WaitingLine::enter(std::uint64_t number, Priority priority, TimePoint due, TimePoint now) {
  leave(number);
  Place& place = places_[number];
  place = {.own = priority, .risen_to = priority, .due = due};
  line_of(place).emplace(due, number);
  rise_later(number, place, now);
}

void WaitingLine::leave(std::uint64_t number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return;
  line_of(found->second).erase({found->second.due, number});
  rises_.erase({found->second.rises, number});
  places_.erase(found);
}

void WaitingLine::on_time(TimePoint now) {
  while (!rises_.empty() && rises_.begin()->first <= now) {
    const auto [since, number] = *rises_.begin();
    rises_.erase(rises_.begin());
    Place& place = places_.at(number);
    line_of(place).erase({place.due, number});
    place.risen_to = kPriorities.at(rank(place.risen_to) - 1);
    line_of(place).emplace(place.due, number);
    rise_later(number, place, since);
  }
}

void WaitingLine::rise_later(std::uint64_t number, Place& place, TimePoint since) {
  place.rises = kNever;
  if (ageing_ == Duration::zero() || place.risen_to == Priority::realtime) return;
  place.rises = since + ageing_;
  rises_.emplace(place.rises, number);
}

std::optional<std::uint64_t> WaitingLine::first(Priority lowest) const {
  for (const auto& risen : lines_) {
    const Key* best = nullptr;
    for (std::size_t own = 0; own <= rank(lowest); ++own) {
      const std::set<Key>& line = risen.at(own);
      if (!line.empty() && (best == nullptr || *line.begin() < *best)) best = &*line.begin();
    }
    if (best != nullptr) return best->second;
  }
  return std::nullopt;
}

// Counted from the end of each line, where most are.
std::size_t WaitingLine::place(std::uint64_t number) const {
  const Place& place = places_.at(number);
  std::size_t before = 0;
  for (std::size_t risen = 0; risen <= rank(place.risen_to); ++risen) {
    for (const std::set<Key>& line : lines_.at(risen)) {
      before += line.size();
      if (risen < rank(place.risen_to)) continue;
      const auto behind = line.lower_bound({place.due, number});
      before -= static_cast<std::size_t>(std::distance(behind, line.end()));
    }
  }
  return before + 1;
}

std::size_t WaitingLine::size(Priority own) const {
  std::size_t sum = 0;
  for (const auto& risen : lines_) sum += risen.at(rank(own)).size();
  return sum;
}

}  // namespace seedance::core
