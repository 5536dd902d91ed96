// Which sequence contributes what to the next batch of a model.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/priority.h"
#include "sched/draft_budget.h"
#include "sched/guess.h"
#include "sched/job_key.h"
#include "sched/kv_slots.h"
#include "sched/model_draft.h"
#include "sched/ngram_draft.h"
#include "sched/park_memory.h"
#include "sched/prefill_budget.h"
#include "sched/turns.h"

namespace seedance::sched {

struct PlannerLimits {
  std::uint32_t sequences_max = 64;
  std::uint32_t batch_tokens_max = 2048;  // More than sequences_max.
  // A gap of at most so many slots between two slots that decode is bridged.
  // 0 when the model does not care which slots a pass covers.
  std::uint32_t gap_max = 0;
  std::uint32_t reuse_min = 0;  // As in KvLimits.
  // Guessed tokens that a batch computes beside known ones, of all sequences together. More than
  // 0 only where the memory can be cut behind any token.
  std::uint32_t draft_tokens_max = 0;
  bool draft_ngrams = true;  // They are guessed from what repeats,
  bool draft_model = false;  // by a model, or by what promises more.
  PrefillLimits prefill = {};
  // What parked jobs may keep in the host's memory, and what a sequence takes there.
  std::uint64_t park_bytes_max = 0;
  SequenceBytes sequence_bytes = {};
};

// What a job is to the planner.
struct NewJob {
  JobKey key;
  std::vector<TokenId> tokens;  // Known; at least 1.
  Priority priority = Priority::interactive;
  Scope scope = {};  // Within which prefixes are shared.
  // It ends when so many are known at the latest.
  std::uint32_t tokens_max = std::numeric_limits<std::uint32_t>::max();
  bool goes_on = false;  // Its owner has tokens of it: it had a slot before.
};

// Consecutive tokens of one sequence.
struct Part {
  Slot slot;
  JobKey job;               // Nobody's for a filler.
  std::uint32_t begin = 0;  // Position of the first token in its sequence.
  std::uint32_t count = 0;
  bool last = false;    // It reaches the last known token: the next one is to be chosen.
  bool filler = false;  // Any token in a slot that nobody uses, to be cut off after the pass.
  // So many rows follow, with the tokens of guess() and, where it has fewer, any.
  std::uint32_t drafted = 0;

  friend bool operator==(const Part&, const Part&) = default;
};

// A job that was parked so often keeps its slot to its end.
inline constexpr std::uint32_t kParksMax = 4;
// A job that had to see later ones served in so many steps is served as a realtime one.
inline constexpr std::uint32_t kOvertakenMax = 64;

// Composes batches: first the next token of every sequence that decodes, then
// chunks of prompts until the batch is full or would take too long for those who
// decode (PrefillBudget). These pause for a while where a long prompt of no lower class
// wants more than that. Jobs wait for one of the slots in order of class, then those
// that go on before new ones, then of arrival, and get the lowest that is free. What is
// known of their tokens' prefix is not computed again; a job whose prefix another
// one of no lower class is about to compute lets others pass until that is done, for
// a while.
//
// A job that finds all slots taken takes that of the newest job of the lowest class, if
// that class is lower than its own: who is parked so waits again, and goes on later behind
// all tokens that it has. What it had computed is saved meanwhile where that takes less time than
// computing it again (ParkMemory), and has no part in sharing. Prompts of a higher class get the
// room of a step first. Nobody starves: a job is parked kParksMax times at most, and kOvertakenMax
// steps in which later ones got a slot, or room, before it make it a realtime job in its turn (not
// in its right to take a slot). So whoever waits comes first in the end, and whoever runs stays.
//
// All parts of a batch are of one adapter (Turns). Those of others keep their slots, and nothing
// is computed there.
//
// Parts come in the order that llama.cpp's split of a batch into passes wants
// (llama_batch_allocr::split_equal): one pass takes the same number of tokens of
// each of some sequences with consecutive slots. So decoding parts ascend and
// small gaps between them are bridged with the first token of a prompt in the
// gap or with a filler; prompts of equal length in neighbouring slots ascend and
// share passes; other prompts descend, so that each has passes of its own.
//
// While few decode, in neighbouring slots, and no prompt is there, guesses of what they
// will say (NgramDraft, ModelDraft) are computed behind their last tokens, as many for each, where
// that is worth it (DraftBudget). A draft model knows no adapters: with one, it guesses nothing.
//
// Protocol: add() and cancel() at any time between steps; plan(), then the owner
// carries out take_changes() and calls on_moved() for each that is from or to the host's memory;
// where one of these was false it plans again. Then it does draft_work(), where there is any,
// computes, and calls either on_computed() and for each part that is `last` on_token(), again while
// that is true, or on_end(), or on_no_room() or on_failed(). A value; belongs to one thread.
class BatchPlanner {
 public:
  explicit BatchPlanner(PlannerLimits limits);

  // It waits behind all others of its class, or of those that go on.
  void add(NewJob job);

  // Whether it was there, in whatever state.
  bool cancel(JobKey job);

  // The next batch; empty when there is nothing to do. Valid until the next call.
  std::span<const Part> plan();
  std::uint32_t adapter() const { return turn_.adapter; }  // That computes it.

  // Whether the batch can be computed as far as this goes.
  bool on_moved(const KvMove& move);
  // What a draft model is to do before the batch, and then: its guesses for each of that, or that
  // it could not, and lost what it held.
  std::span<const DraftWork> draft_work() const { return model_draft_.work(); }
  void on_drafted(std::span<const std::vector<TokenId>> guesses, Duration took);
  void on_draft_failed() { model_draft_.on_failed(); }

  void on_computed(Duration took);  // What was planned is in the model's memory.
  // One more token is known. True when it was guessed: then the next row is that of the next.
  bool on_token(Slot slot, TokenId token);
  void on_end(JobKey job);     // Nothing more is wanted of it.
  void on_failed(JobKey job);  // Nor is what it has in memory, if it runs, to be trusted.

  // The memory has no room for what was planned. What nobody uses is dropped; where there
  // is no such thing, the newest running job of the lowest class is taken out, and starts
  // anew from its first token when another job has ended. False when it is the only one,
  // which then stays.
  bool on_no_room();

  // What is to be done to the memory, in this order, since the last call.
  std::vector<KvChange> take_changes() { return slots_.take_changes(); }
  bool has_changes() const { return slots_.has_changes(); }

  // How many jobs were parked since the last call, for a higher class or for want of room, and how
  // many went on with what was saved.
  std::uint32_t take_parked() { return std::exchange(parked_, 0); }
  std::uint32_t take_restored() { return std::exchange(restored_, 0); }
  std::uint64_t saved_bytes() const { return park_.bytes(); }

  struct Drafts {
    std::uint32_t tokens = 0;    // Guessed ones that were computed.
    std::uint32_t accepted = 0;  // Of these, those that were right.
  };
  Drafts take_drafts() { return std::exchange(drafts_, {}); }  // Since the last call.

  KvUse kv_use() const { return slots_.use(); }
  KvCounts take_kv_counts() { return slots_.take_counts(); }  // Since the last call.

  // Of a job that runs.
  std::span<const TokenId> tokens(Slot slot) const { return slots_.tokens(slot); }  // Known.
  std::uint32_t reused(Slot slot) const { return slots_.reused(slot); }  // Of its prompt.
  std::span<const TokenId> guess(Slot slot) const;

  bool idle() const { return running_ == 0 && waiting_.empty(); }
  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // What decides a job's turn.
  struct Claim {
    Priority priority = Priority::interactive;
    std::uint32_t parks = 0;
    std::uint32_t overtaken = 0;  // Steps.

    // In its turn for slots and room.
    Priority turn() const { return overtaken < kOvertakenMax ? priority : Priority::realtime; }
    // In the slot that it has.
    Priority hold() const { return parks < kParksMax ? priority : Priority::realtime; }
  };
  struct Waiting {
    JobKey job;
    std::uint64_t arrival = 0;
    std::vector<TokenId> tokens = {};
    Scope scope = {};
    std::uint32_t passes = 0;  // That it let others pass.
    Claim claim = {};
    std::uint32_t tokens_max = 0;
  };
  struct Running {
    JobKey job;
    std::uint64_t arrival = 0;
    Scope scope = {};
    std::uint32_t planned = 0;  // Of what is pending, meant for this batch.
    std::uint32_t placed = 0;   // Of these, in parts_.
    Claim claim = {};
    bool fresh = true;   // It has just come in.
    bool begun = false;  // It has said something since.
    std::uint32_t tokens_max = 0;
    std::uint32_t drafted = 0;  // Rows behind its last known token, in this batch.
    NgramDraft repeats = {};
    Guess modelled = {};
  };

  std::uint32_t pending(std::uint32_t slot) const;
  bool has_begun(std::uint32_t slot) const;
  bool in_turn(std::uint32_t slot) const;
  bool decodes(std::uint32_t slot) const;
  bool prefills(std::uint32_t slot) const;
  void choose_turn();
  std::uint32_t prompt_room() const;
  std::uint32_t prompt_time(std::uint32_t decoding) const;
  std::uint32_t still_waiting(std::uint32_t decoding) const;
  std::optional<Priority> pauses() const;
  void admit(std::uint32_t room);
  bool lets_pass(const Waiting& job) const;
  std::uint32_t enter(Waiting& job);
  std::optional<std::uint32_t> first_to_leave() const;
  Waiting take_out(std::uint32_t slot);
  void save(std::uint32_t slot);
  void forget_saved(JobKey job);
  std::uint32_t as_tokens(double ns) const;
  void deal(std::uint32_t room, Priority lowest);
  std::uint32_t deal(std::vector<std::uint32_t>& prompts, std::uint32_t room);
  std::uint32_t draft();
  std::uint32_t draft(std::span<const std::uint32_t> decoding, std::uint32_t rows_max,
                      std::uint32_t room);
  void drop_draft(std::uint32_t slot);
  void place_decoding(std::uint32_t drafted);
  void bridge(std::uint32_t begin, std::uint32_t end);
  void place_prompts();
  void place(std::uint32_t slot, std::uint32_t count);
  void fill(std::uint32_t slot);
  void leave(std::uint32_t slot);
  bool wait_no_more(JobKey job);
  Waiting vacate(std::uint32_t slot);
  bool on_not_restored(const KvChange& change);
  bool in_host(Slot slot) const { return slot.value >= limits_.sequences_max; }
  std::optional<std::uint32_t> slot_of(JobKey job) const;

  PlannerLimits limits_;
  KvSlots slots_;
  ParkMemory park_;
  PrefillBudget budget_;
  Turns turns_;
  Turns::Turn turn_;  // Of the batch.
  DraftBudget draft_budget_;
  ModelDraft model_draft_;
  bool by_model_ = false;                     // The batch's guesses.
  std::vector<std::optional<Running>> jobs_;  // By slot.
  std::size_t running_ = 0;
  std::deque<Waiting> waiting_;
  std::uint64_t arrivals_ = std::uint64_t{1} << 63U;  // Behind those that go on.
  std::uint64_t returns_ = 0;
  bool hold_ = false;     // Room was short: a slot that is free is none until somebody has ended.
  double moving_ns_ = 0;  // For what is saved and restored, since somebody came in.
  std::uint32_t parked_ = 0;
  std::uint32_t restored_ = 0;
  Drafts drafts_;
  bool known_only_ = false;  // The next batch: room was short for guesses.
  bool paused_ = false;      // The batch has prompts only, and others wait for them.
  bool counted_ = false;     // Who had to wait in this step, by a plan that was not carried out.
  std::vector<Part> parts_;
};

}  // namespace seedance::sched
