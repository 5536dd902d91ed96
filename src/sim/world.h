// Time, dice and the diary of one simulated run.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace seedance::sim {

// Whoever can be woken: the core's thread, the disk, an edge, a client, ...
struct Actor {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Actor, Actor) = default;
};

// When something happened, counted in what was written down: unlike the time, no
// two things have the same.
struct Moment {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Moment, Moment) = default;
};

enum class Diary : std::uint8_t { hashed, written };

// What all parts of a simulation share. Every choice of a run comes out of its one
// seed, so that the same seed gives the same run; `hash()` tells whether it did.
// Belongs to one run and its thread.
class World {
 public:
  explicit World(std::uint64_t seed, Diary diary = Diary::hashed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Time.

  TimePoint now() const { return now_; }
  WallTime wall() const { return wall_at_start_ + (now_ - TimePoint{}); }
  Moment moment() const { return {moment_}; }

  // Wakes the actor then, or earlier if somebody else asked for it. One wake is due
  // at a time: who is woken says again when it wants to be next.
  void wake(Actor actor, TimePoint at);

  // Advances the time to the next wake. Nothing when nobody waits for one.
  std::optional<Actor> next();

  // The clocks jump: everybody whose wake was due in between is late.
  void leap(Duration by) { now_ += by; }
  void set_wall_clock(Duration by) { wall_at_start_ += by; }

  // Dice.

  std::uint64_t below(std::uint64_t bound) { return dice_.below(bound); }
  bool one_in(std::uint64_t bound) { return bound > 0 && dice_.below(bound) == 0; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + dice_.below(high - low + 1);
  }
  Duration between(Duration low, Duration high);
  // As often short as long, on a logarithmic scale.
  Duration spread(Duration low, Duration high);
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  // Diary.

  void note(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
  // Only where somebody will read it: what a note cannot hold.
  bool is_written() const { return how_ == Diary::written; }
  void write(std::string_view line);

  std::uint64_t hash() const { return hash_; }
  const std::string& diary() const { return written_; }

  // A promise is broken. The first one counts; the run ends with it.
  void violate(std::string what);
  bool violated() const { return violation_.has_value(); }
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  struct Wake {
    TimePoint at;
    std::uint64_t order = 0;
    Actor actor;

    friend bool operator<(const Wake& a, const Wake& b) {
      return std::pair{a.at, a.order} > std::pair{b.at, b.order};  // The earliest on top.
    }
  };

  Prng dice_;
  TimePoint now_{};
  WallTime wall_at_start_;
  std::priority_queue<Wake> wakes_;
  std::vector<TimePoint> due_;  // By actor.
  std::uint64_t order_ = 0;
  std::uint64_t moment_ = 0;
  std::uint64_t hash_;
  Diary how_;
  std::string written_;
  std::optional<std::string> violation_;
};

}  // namespace seedance::sim
