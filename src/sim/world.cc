#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/check.h"

namespace seedance::sim {
namespace {

constexpr WallTime kBegin{std::chrono::hours{24 * 365 * 50}};
constexpr TimePoint kStart{std::chrono::hours{1}};
constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15ULL;

}  // namespace

World::World(std::uint64_t seed, Diary diary)
    : dice_(seed), now_(kStart), wall_at_start_(kBegin), hash_(seed), how_(diary) {}

void World::wake(Actor actor, TimePoint at) {
  if (at == kNever) return;
  at = std::max(at, now_);
  if (due_.size() <= actor.value) due_.resize(actor.value + 1, kNever);
  TimePoint& due = due_[actor.value];
  if (at >= due) return;
  due = at;
  wakes_.push({at, ++order_, actor});
}

std::optional<Actor> World::next() {
  while (!wakes_.empty()) {
    const Wake wake = wakes_.top();
    wakes_.pop();
    TimePoint& due = due_[wake.actor.value];
    if (due != wake.at) continue;  // The actor was woken earlier, and asked anew.
    due = kNever;
    now_ = std::max(now_, wake.at);
    return wake.actor;
  }
  return std::nullopt;
}

Duration World::between(Duration low, Duration high) {
  SEEDANCE_CHECK(low <= high, "a range begins before it ends");
  return low + Duration{static_cast<std::int64_t>(
                   dice_.below(static_cast<std::uint64_t>((high - low).count()) + 1))};
}

Duration World::spread(Duration low, Duration high) {
  const auto octaves = [](Duration time) {
    return static_cast<std::uint64_t>(
        std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 1))));
  };
  const std::uint64_t octave = between(octaves(low), octaves(high));
  const auto top = Duration{static_cast<std::int64_t>(std::uint64_t{1} << octave)};
  return std::clamp(between(top / 2, top), low, high);
}

void World::note(std::string_view what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  ++moment_;
  const auto mix = [this](std::uint64_t value) {
    hash_ = std::rotl((hash_ ^ value) * kMultiplier, 29);
  };
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  for (const char letter : what) mix(static_cast<unsigned char>(letter));
  mix(a);
  mix(b);
  mix(c);
  if (how_ == Diary::hashed) return;
  const double seconds = std::chrono::duration<double>(now_ - kStart).count();
  fmt::format_to(std::back_inserter(written_), "{:12.6f} {}", seconds, what);
  if (a != 0 || b != 0 || c != 0) fmt::format_to(std::back_inserter(written_), " {}", a);
  if (b != 0 || c != 0) fmt::format_to(std::back_inserter(written_), " {}", b);
  if (c != 0) fmt::format_to(std::back_inserter(written_), " {}", c);
  written_ += '\n';
}

void World::write(std::string_view line) {
  if (is_written()) fmt::format_to(std::back_inserter(written_), "{:15}{}\n", "", line);
}

void World::violate(std::string what) {
  if (how_ == Diary::written) written_ += "violated: " + what + "\n";
  if (!violation_) violation_ = std::move(what);
}

}  // namespace seedance::sim
