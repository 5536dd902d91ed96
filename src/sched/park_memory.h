// What parked jobs keep in the host's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/priority.h"
#include "base/time.h"
#include "sched/job_key.h"
#include "sched/kv_slots.h"

namespace seedance::sched {

// What a sequence takes there.
struct SequenceBytes {
  std::uint64_t fixed = 0;
  std::uint64_t token = 0;  // Each.

  std::uint64_t of(std::uint32_t tokens) const { return fixed + (token * tokens); }

  friend bool operator==(const SequenceBytes&, const SequenceBytes&) = default;
};

struct ParkLimits {
  std::uint64_t bytes_max = 0;  // 0 = nothing is saved.
  SequenceBytes sequence = {};
  std::uint32_t first_place = 0;  // The number of the first slot that is not the model's.
};

// Decides whether what a parked job has computed is saved, or computed again later: what takes
// less time, by what saving and restoring took so far, which newer ones tell best. Where it would
// be more than bytes_max, the oldest ones of the lowest class are dropped, of no higher class than
// the new one's. Keeps the books; knows no clock. A value; belongs to one thread.
class ParkMemory {
 public:
  explicit ParkMemory(ParkLimits limits) : limits_(limits) {}

  struct Parking {
    JobKey job;
    Priority priority = Priority::interactive;
    std::uint32_t tokens = 0;  // That it has computed.
    std::uint32_t lost = 0;    // Of these, those that are nowhere else.
    std::uint32_t reused = 0;  // As in KvSlots.
  };
  struct Saving {
    Slot place;
    std::vector<Slot> dropped;  // First.
  };
  // Nothing = it is to be computed again, for `token_ns` a token; 0 = not known.
  std::optional<Saving> save(const Parking& parking, double token_ns);

  std::optional<Saved> find(JobKey job) const;
  // The place where it was.
  std::optional<Slot> drop(JobKey job);

  void on_saved(Slot place, Duration took);
  void on_not_saved(Slot place);
  void on_restored(Slot place, Duration took);  // And gone from there.

  // What it takes for so many tokens, as far as is known.
  double save_ns(std::uint32_t tokens) const { return save_rate_.ns(bytes_of(tokens)); }
  double restore_ns(std::uint32_t tokens) const { return restore_rate_.ns(bytes_of(tokens)); }

  std::uint64_t bytes() const { return bytes_; }  // That all take.

 private:
  struct State {
    Parking parking;
    Slot place;
    std::uint64_t bytes = 0;
  };
  using States = std::vector<State>;

  class Rate {
   public:
    double ns(std::uint64_t bytes) const;
    void on_moved(std::uint64_t bytes, Duration took);

   private:
    double bytes_ = 0;  // Newer ones count more; 0 = nothing is known.
    double ns_ = 0;
  };

  std::uint64_t bytes_of(std::uint32_t tokens) const { return limits_.sequence.of(tokens); }
  bool worth_it(const Parking& parking, double token_ns);
  std::optional<std::vector<Slot>> make_room(std::uint64_t bytes, Priority priority);
  Slot new_place();
  States::const_iterator at(Slot place) const;
  void erase(States::const_iterator state);

  ParkLimits limits_;
  States states_;  // The oldest first.
  std::uint64_t bytes_ = 0;
  std::uint32_t next_place_ = 0;
  Rate save_rate_;
  Rate restore_rate_;
  std::uint32_t refusals_ = 0;
};

}  // namespace seedance::sched
