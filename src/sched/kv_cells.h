// How many places of a model's memory its slots take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace seedance::sched {

// Counts cells, each of which holds one token. Where slots share their room a copy takes none of
// its own: the cells of a prefix are those of all slots that hold it. Follows what is computed,
// copied and cut; slots are numbers from 0. A value; belongs to one thread.
//
// What a slot holds is a row of runs: cells that were computed one after the other. Slots that
// hold more or less of the same run share its beginning.
class KvCells {
 public:
  // `shared`: the slots share their room. Else each copy has cells of its own.
  KvCells(std::uint32_t slots, bool shared) : shared_(shared), rows_(slots) {}

  void compute(std::uint32_t slot, std::uint32_t tokens);  // Behind what it holds.
  // The first `tokens` of what `from` holds, in place of what `slot` does.
  void copy(std::uint32_t slot, std::uint32_t from, std::uint32_t tokens);
  void cut(std::uint32_t slot, std::uint32_t tokens);  // Keeps so many.

  // How many cells hold the first `tokens[slot]` of each slot, at most all that it holds.
  std::uint64_t count(std::span<const std::uint32_t> tokens) const;

 private:
  struct Run {
    std::uint64_t id = 0;
    std::uint32_t tokens = 0;
    bool grows = false;  // What this slot computes next is part of it.
  };

  bool shared_;
  std::vector<std::vector<Run>> rows_;  // By slot.
  std::uint64_t runs_ = 0;
};

}  // namespace seedance::sched
