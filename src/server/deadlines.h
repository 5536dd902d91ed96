// When which connection wants to be looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace seedance::server {

// Far deadlines are moved to the next multiple of this, so that thousands of
// heartbeats cost four wakes a second and not thousands.
inline constexpr Duration kCoarseTick = std::chrono::milliseconds{250};
inline constexpr Duration kFar = std::chrono::seconds{1};

// `at`, or a bit later if it is far from `now`.
TimePoint coarse(TimePoint at, TimePoint now);

// The entry for a deadline `at` where there is one for `entry`; nothing when that will do.
std::optional<TimePoint> sooner_entry(TimePoint at, TimePoint entry, TimePoint now);

// One deadline for each place in a table: a hierarchical timing wheel (Varghese and
// Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7).
//
// A wheel has 64 slots, and one slot of a wheel is a whole turn of the wheel below it.
// Eight wheels hold every TimePoint there is, so nothing lies beyond them. A deadline is
// in the lowest wheel whose slots tell it from what has passed: of two that are in
// different wheels, the lower one is due first, and no slot ever has to be turned over.
// It sinks, one wheel at least each time, when its slot is the first and has something
// due: after seven moves at most it is given out. Slots that are empty cost nothing,
// however long nobody asked.
//
// Setting, replacing and erasing cost the same however many there are, and allocate only
// for a place higher than any before. Knows no clock. Belongs to one thread.
class Deadlines {
 public:
  static constexpr std::size_t kBytesAPlace = 16;

  Deadlines();

  // Replaces the one that the place has.
  void set(std::uint32_t place, TimePoint at);
  void erase(std::uint32_t place);

  // When to take() again: at the first deadline; before it only if one that was erased
  // was earlier, and in the past if something was left.
  TimePoint next() const;

  // Appends places whose time has come, never one before it, and forgets their deadlines.
  // Gives out or moves so many at most: what is left then is for the next call.
  void take(TimePoint now, std::size_t moves_max, std::vector<std::uint32_t>& due);

 private:
  static constexpr unsigned kSlotBits = 6;
  static constexpr std::uint32_t kSlots = 1U << kSlotBits;
  static constexpr std::uint32_t kWheels = 8;
  static constexpr unsigned kTickBits = 16;  // A tick is 2^16 ns: 65 us.
  static_assert(kWheels * kSlotBits + kTickBits >= 64, "the wheels hold every TimePoint");

  // Rings of nodes: each has a node of its own, then come those of the places.
  using Ring = std::uint32_t;
  static constexpr Ring kMoving = kWheels * kSlots;  // Of a slot that is being emptied.
  static constexpr Ring kDue = kMoving + 1;
  static constexpr std::uint32_t kFirstPlace = kDue + 1;

  struct Node {
    std::uint64_t tick = 0;  // Of a slot's own: not later than any in it.
    std::uint32_t next = 0;  // Its own number, and so `previous`, while it is in no ring.
    std::uint32_t previous = 0;
  };
  static_assert(sizeof(Node) == kBytesAPlace);

  static std::uint64_t tick_at(TimePoint at);
  static TimePoint time_of(std::uint64_t tick);

  bool empty(Ring ring) const { return nodes_[ring].next == ring; }
  bool linked(std::uint32_t node) const { return nodes_[node].previous != node; }
  Ring first_slot() const;
  void insert(std::uint32_t node);
  void append(std::uint32_t node, Ring ring);
  void unlink(std::uint32_t node);
  void empty_into_moving(Ring slot);
  void pass_to(std::uint64_t tick);

  std::vector<Node> nodes_;
  std::array<std::uint64_t, kWheels> filled_{};  // A bit for each slot that has something.
  std::uint64_t passed_ = 0;  // Nothing that is in a slot is due at this tick or before it.
};

}  // namespace seedance::server
