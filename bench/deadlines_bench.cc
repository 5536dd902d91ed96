// What the deadlines of 20,000 connections cost: the timing wheel of the edges, and the
// heap of entries that are never erased, which does the same with less code.
//
//   deadlines_bench
//
// A connection holds one deadline, as those of an edge do: it sets an earlier one only, and
// looks again when its time comes. A message comes every 2 us, to any of them. Loads:
//   idle    each message moves the far deadline (15 s) away
//   answer  each message wants something within 5 ms, and then the far deadline again
//   move    each message moves the deadline, sooner or later: nothing is lazy
// One JSON line for each load and kind: ns of computing for a message and all that comes of
// it, the most entries at any time, and the longest look at what is due.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "server/deadlines.h"

namespace {

using namespace seedance;

constexpr std::uint32_t kConnections = 20'000;
constexpr int kMessages = 20'000'000;
constexpr int kMessagesALook = 50;  // Of the edge, at what is due.
constexpr std::size_t kMovesMax = 4096;
constexpr Duration kIdle = std::chrono::seconds{15};
constexpr Duration kSoon = std::chrono::milliseconds{5};
constexpr Duration kStep = std::chrono::microseconds{2};

// What this program computed for so far: others may run beside it.
Duration spent() {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>{static_cast<double>(std::clock()) / CLOCKS_PER_SEC});
}

enum class Load : std::uint8_t { idle, answer, move };

class Wheel {
 public:
  void set(std::uint32_t place, TimePoint at) { wheel_.set(place, at); }
  template <typename Visit>
  void take(TimePoint now, Visit visit) {
    due_.clear();
    wheel_.take(now, kMovesMax, due_);
    for (const std::uint32_t place : due_) visit(place, kNever);
  }
  std::size_t entries() const { return kConnections; }

 private:
  server::Deadlines wheel_;
  std::vector<std::uint32_t> due_;
};

class Heap {
 public:
  void set(std::uint32_t place, TimePoint at) { queue_.emplace(at, place); }
  template <typename Visit>
  void take(TimePoint now, Visit visit) {
    while (!queue_.empty() && queue_.top().first <= now) {
      const auto [at, place] = queue_.top();
      queue_.pop();
      visit(place, at);
    }
  }
  std::size_t entries() const { return queue_.size(); }

 private:
  using Entry = std::pair<TimePoint, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

struct One {
  TimePoint deadline = kNever;
  TimePoint scheduled = kNever;
};

template <typename Kind>
class Run {
 public:
  explicit Run(Load load) : load_(load), connections_(kConnections) {
    for (std::uint32_t place = 0; place < kConnections; ++place) want(place, now_ + kIdle);
  }

  void run(std::string_view load, std::string_view kind) {
    const Duration began = spent();
    for (int message = 1; message <= kMessages; ++message) {
      now_ += kStep;
      on_message(static_cast<std::uint32_t>(random_.below(kConnections)));
      if (message % kMessagesALook == 0) look();
    }
    const double ns = to_ms(spent() - began) * 1e6 / kMessages;
    fmt::print(
        "{{\"load\": \"{}\", \"kind\": \"{}\", \"ns_per_message\": {:.1f}, "
        "\"entries_max\": {}, \"longest_look_us\": {:.0f}, \"expired\": {}}}\n",
        load, kind, ns, entries_max_, to_ms(longest_) * 1e3, expired_);
  }

 private:
  void on_message(std::uint32_t place) {
    const bool soon = load_ == Load::answer || (load_ == Load::move && random_.below(2) == 0);
    want(place, now_ + (soon ? kSoon : kIdle));
  }

  void want(std::uint32_t place, TimePoint at) {
    One& one = connections_[place];
    one.deadline = server::coarse(at, now_);
    if (one.deadline >= one.scheduled && load_ != Load::move) return;
    one.scheduled = one.deadline;
    deadlines_.set(place, one.deadline);
  }

  void look() {
    const Duration began = spent();
    deadlines_.take(now_, [this](std::uint32_t place, TimePoint at) {
      One& one = connections_[place];
      if (at != kNever && at != one.scheduled) return;  // Of the heap: replaced long ago.
      one.scheduled = kNever;
      if (one.deadline <= now_) ++expired_;
      want(place, one.deadline <= now_ ? now_ + kIdle : one.deadline);
    });
    longest_ = std::max(longest_, spent() - began);
    entries_max_ = std::max(entries_max_, deadlines_.entries());
  }

  Load load_;
  std::vector<One> connections_;
  Kind deadlines_;
  Prng random_{1};
  TimePoint now_{std::chrono::seconds{1000}};
  std::size_t entries_max_ = 0;
  std::uint64_t expired_ = 0;
  Duration longest_{};
};

}  // namespace

int main() {
  constexpr std::pair<Load, std::string_view> kLoads[] = {
      {Load::idle, "idle"}, {Load::answer, "answer"}, {Load::move, "move"}};
  for (const auto& [load, name] : kLoads) {
    Run<Wheel>{load}.run(name, "wheel");
    Run<Heap>{load}.run(name, "heap");
  }
  return 0;
}
