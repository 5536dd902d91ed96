// Which sequence contributes what to the next batch of a model.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"

namespace seedance::sched {

// A job as its owner names it. Another generation is another job.
struct JobKey {
  std::uint64_t id = 0;
  Generation gen = {};

  friend constexpr auto operator<=>(const JobKey&, const JobKey&) = default;
};

// A place for one sequence in the model's memory: 0 to sequences_max - 1.
struct Slot {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Slot, Slot) = default;
};

struct PlannerLimits {
  std::uint32_t sequences_max = 64;
  std::uint32_t batch_tokens_max = 2048;  // At least sequences_max.
  // A gap of at most so many slots between two slots that decode is bridged.
  // 0 when the model does not care which slots a pass covers.
  std::uint32_t gap_max = 0;
};

// Consecutive tokens of one sequence.
struct Part {
  Slot slot;
  JobKey job;               // Nobody's for a filler.
  std::uint32_t begin = 0;  // Position of the first token in its sequence.
  std::uint32_t count = 0;
  bool last = false;    // It reaches the last known token: the next one is to be chosen.
  bool filler = false;  // Any token in a free slot, to be forgotten after the pass.

  friend bool operator==(const Part&, const Part&) = default;
};

// Composes batches: first the next token of every sequence that decodes, then
// chunks of prompts, oldest job first, until the batch is full. Jobs wait in
// order of arrival for one of the slots and get the lowest that is free.
//
// Parts come in the order that llama.cpp's split of a batch into passes wants
// (llama_batch_allocr::split_equal): one pass takes the same number of tokens of
// each of some sequences with consecutive slots. So decoding parts ascend and
// small gaps between them are bridged with the first token of a prompt in the
// gap or with a filler; prompts of equal length in neighbouring slots ascend and
// share passes; other prompts descend, so that each has passes of its own.
//
// Protocol: add() and cancel() at any time between steps; plan(), then either
// on_computed() and for each part that is `last` on_token() or on_end(), or
// on_no_room() or on_end() for what failed. After each event the owner clears
// the memory of take_freed(). A value; belongs to one thread.
class BatchPlanner {
 public:
  explicit BatchPlanner(PlannerLimits limits);

  // `tokens` are known, at least 1. The job waits behind all others.
  void add(JobKey job, std::uint32_t tokens);

  // Whether it was there, in whatever state.
  bool cancel(JobKey job);

  // The next batch; empty when there is nothing to do. Valid until the next call.
  std::span<const Part> plan();

  void on_computed();        // What was planned is in the model's memory.
  void on_token(Slot slot);  // One more token is known.
  void on_end(JobKey job);   // Nothing more is wanted of it.

  // The memory has no room for what was planned: the newest running job is taken
  // out, and starts anew from its first token when another job has ended. Nothing
  // when it is the only one, which then stays.
  std::optional<JobKey> on_no_room();

  // Slots that were left since the last call.
  std::vector<Slot> take_freed();

  bool idle() const { return running_ == 0 && waiting_.empty(); }
  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Sequence {
    JobKey job;
    std::uint64_t arrival = 0;
    std::uint32_t tokens = 0;    // Known.
    std::uint32_t computed = 0;  // Of these, in the model's memory.
    std::uint32_t planned = 0;   // Of the rest, meant for this batch.
    std::uint32_t placed = 0;    // Of these, in parts_.

    std::uint32_t pending() const { return tokens - computed; }
    bool decodes() const { return computed > 0 && pending() == 1; }
  };

  std::uint32_t prompt_room() const;
  void admit(std::uint32_t room);
  void deal(std::uint32_t room);
  void place_decoding();
  void bridge(std::uint32_t begin, std::uint32_t end);
  void place_prompts();
  void place(std::uint32_t slot, std::uint32_t count);
  void leave(std::uint32_t slot);
  std::optional<std::uint32_t> slot_of(JobKey job) const;

  PlannerLimits limits_;
  std::vector<std::optional<Sequence>> slots_;
  std::size_t running_ = 0;
  std::deque<Sequence> waiting_;
  std::uint64_t arrivals_ = 0;
  bool hold_ = false;  // Room was short: nobody enters until somebody has ended.
  std::vector<Part> parts_;
  std::vector<Slot> freed_;
};

}  // namespace seedance::sched
