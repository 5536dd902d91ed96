// Who goes to the engine next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/priority.h"
#include "base/time.h"

namespace seedance::core {

// The streams that wait for one model, by number. Who has a higher class goes first, and of
// one class who is to run the soonest. Who waited for `ageing` rises by a class, and again
// after as long, so that urgency does not keep it waiting for ever; 0 = never. What rises is
// its place in the line: it is of its own class still. A value; knows no clock.
class WaitingLine {
 public:
  explicit WaitingLine(Duration ageing) : ageing_(ageing) {}

  // Behind all of its class that are to run by `due` or sooner.
  void enter(std::uint64_t number, Priority priority, TimePoint due, TimePoint now);
  void leave(std::uint64_t number);
  void on_time(TimePoint now);

  // The first whose own class is `lowest` or higher.
  std::optional<std::uint64_t> first(Priority lowest) const;
  // From 1.
  std::size_t place(std::uint64_t number) const;

  std::size_t size() const { return places_.size(); }
  std::size_t size(Priority own) const;

 private:
  using Key = std::pair<TimePoint, std::uint64_t>;  // When it is due, and its number.
  struct Place {
    Priority own = Priority::interactive;
    Priority risen_to = Priority::interactive;
    TimePoint due;
    TimePoint rises = kNever;
  };

  std::set<Key>& line_of(const Place& place) {
    return lines_.at(rank(place.risen_to)).at(rank(place.own));
  }
  void rise_later(std::uint64_t number, Place& place, TimePoint since);

  Duration ageing_;
  std::unordered_map<std::uint64_t, Place> places_;
  // By the class that they have risen to, then by their own.
  std::array<std::array<std::set<Key>, kPriorityCount>, kPriorityCount> lines_;
  std::set<Key> rises_;  // When the next ones rise.
};

}  // namespace seedance::core
