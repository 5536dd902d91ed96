#include "sched/park_memory.h"

#include <algorithm>
#include <utility>

namespace seedance::sched {
namespace {

// What a byte is taken to cost before the first one was moved: less than any machine takes that
// has the model in the same memory, so that it is tried.
constexpr double kFirstNs = 0.05;

// What an older move counts for when another follows, and how many times what was known a move
// may have taken: the machine may have slept.
constexpr double kOlder = 0.75;
constexpr double kOutlier = 4;

// After so many states that were not worth it one is saved all the same, to see.
constexpr std::uint32_t kRefusalsMax = 32;

}  // namespace

std::optional<ParkMemory::Saving> ParkMemory::save(const Parking& parking, double token_ns) {
  const std::uint64_t bytes = bytes_of(parking.tokens);
  if (bytes > limits_.bytes_max || !worth_it(parking, token_ns)) return std::nullopt;
  auto dropped = make_room(bytes, parking.priority);
  if (!dropped) return std::nullopt;
  const Slot place = new_place();
  states_.push_back({.parking = parking, .place = place, .bytes = bytes});
  bytes_ += bytes;
  return Saving{.place = place, .dropped = *std::move(dropped)};
}

bool ParkMemory::worth_it(const Parking& parking, double token_ns) {
  if (parking.lost == 0 || token_ns == 0) return false;
  const bool worth = save_ns(parking.tokens) + restore_ns(parking.tokens) < parking.lost * token_ns;
  if (!worth && ++refusals_ < kRefusalsMax) return false;
  refusals_ = 0;
  return true;
}

// Drops nothing where that would not be enough.
std::optional<std::vector<Slot>> ParkMemory::make_room(std::uint64_t bytes, Priority priority) {
  std::uint64_t held = 0;  // By higher classes.
  for (const State& state : states_) held += state.parking.priority < priority ? state.bytes : 0;
  if (held + bytes > limits_.bytes_max) return std::nullopt;
  std::vector<Slot> dropped;
  while (bytes_ + bytes > limits_.bytes_max) {
    const auto state = std::ranges::max_element(
        states_, {}, [](const State& each) { return each.parking.priority; });
    dropped.push_back(state->place);
    erase(state);
  }
  return dropped;
}

// Another one than others have had lately, so that what is said of these is not taken for its own.
Slot ParkMemory::new_place() {
  constexpr std::uint32_t kPlaces = 1U << 20U;
  Slot place;
  do {
    place.value = limits_.first_place + (next_place_++ % kPlaces);
  } while (at(place) != states_.end());
  return place;
}

std::optional<Saved> ParkMemory::find(JobKey job) const {
  const auto state =
      std::ranges::find(states_, job, [](const State& each) { return each.parking.job; });
  if (state == states_.end()) return std::nullopt;
  return Saved{
      .place = state->place, .tokens = state->parking.tokens, .reused = state->parking.reused};
}

std::optional<Slot> ParkMemory::drop(JobKey job) {
  const auto saved = find(job);
  if (!saved) return std::nullopt;
  erase(at(saved->place));
  return saved->place;
}

void ParkMemory::on_saved(Slot place, Duration took) {
  const auto state = at(place);
  if (state != states_.end()) save_rate_.on_moved(state->bytes, took);
}

void ParkMemory::on_not_saved(Slot place) {
  const auto state = at(place);
  if (state != states_.end()) erase(state);
}

void ParkMemory::on_restored(Slot place, Duration took) {
  const auto state = at(place);
  if (state == states_.end()) return;
  restore_rate_.on_moved(state->bytes, took);
  erase(state);
}

ParkMemory::States::const_iterator ParkMemory::at(Slot place) const {
  return std::ranges::find(states_, place, &State::place);
}

void ParkMemory::erase(States::const_iterator state) {
  bytes_ -= state->bytes;
  states_.erase(state);
}

double ParkMemory::Rate::ns(std::uint64_t bytes) const {
  return static_cast<double>(bytes) * (bytes_ == 0 ? kFirstNs : ns_ / bytes_);
}

void ParkMemory::Rate::on_moved(std::uint64_t bytes, Duration took) {
  auto newest = static_cast<double>(took.count());
  if (bytes_ > 0) newest = std::min(newest, kOutlier * ns(bytes));
  bytes_ = (kOlder * bytes_) + static_cast<double>(bytes);
  ns_ = (kOlder * ns_) + newest;
}

}  // namespace seedance::sched
