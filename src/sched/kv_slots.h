// What lies in the slots of a model's memory.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "sched/kv_cells.h"

namespace seedance::sched {

// A place for one sequence: 0 to count - 1 in the model's memory, from there on in the host's.
struct Slot {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Slot, Slot) = default;
};

// In the time in which one token is computed, so many are copied, at least. A copy is of all
// that a slot holds.
inline constexpr std::uint32_t kCopiedPerComputed = 16;

struct KvLimits {
  std::uint32_t count = 64;
  // Fewer tokens than that are not worth a copy. 0 when the model's memory cannot be cut
  // behind a token: then nothing is used again.
  std::uint32_t reuse_min = 0;
  // Each slot has room of its own: the model wants used ones to be low and side by side, those
  // of one adapter, and copies cost time. Else all share theirs.
  bool dense = true;
};

// Whose tokens they are and what computes them: only what has the same of both is used again.
struct Scope {
  std::uint64_t owner = 0;
  std::uint32_t adapter = 0;  // 0 = none.

  friend bool operator==(const Scope&, const Scope&) = default;
};

// What is to be done to the memory: afterwards `slot` holds the first `tokens` tokens of what
// `from`, perhaps itself, held before, and nothing else. What was in the host's memory is not
// there any more.
struct KvChange {
  Slot slot;
  Slot from;
  std::uint32_t tokens = 0;

  friend bool operator==(const KvChange&, const KvChange&) = default;
};

// What became of a change from or to the host's memory. Of one that was not done, `slot` is empty
// and `from` as it was.
struct KvMove {
  KvChange change;
  Duration took{};
  bool done = false;
};

// What a sequence had in a slot, and has in the host's memory.
struct Saved {
  Slot place;
  std::uint32_t tokens = 0;
  std::uint32_t reused = 0;

  friend bool operator==(const Saved&, const Saved&) = default;
};

// How many cells of the memory, each of which holds one token, are taken.
struct KvUse {
  std::uint64_t active = 0;  // By sequences that use a slot.
  std::uint64_t pinned = 0;  // By prefixes that several shared.
  std::uint64_t cached = 0;  // By what else is kept to be used again.

  friend bool operator==(const KvUse&, const KvUse&) = default;
};

struct KvCounts {
  // Tokens with which sequences entered, without those that they had saved.
  std::uint64_t asked = 0;
  std::uint64_t reused = 0;     // Of these, those that lay there.
  std::uint64_t evictions = 0;  // Times that something kept had to give way.

  friend bool operator==(const KvCounts&, const KvCounts&) = default;
};

// Which tokens each slot holds, who may have it, and what of it can be used again.
//
// A sequence uses a slot from enter() to leave(). What it had computed stays there until
// the slot, or in a memory that all share its room, is wanted: then the least recently used
// goes first. A new sequence begins with the longest prefix of its tokens that lies in any
// slot, used or not. A value; belongs to one thread.
//
// A prefix behind which a second sequence goes on otherwise, such as a system prompt, is pinned in
// one slot: that goes when there is nothing else, and its end, where room is shared, before it.
// At most half of the slots are pinned, those of the prefixes that were wanted last. Nobody
// waits for a pin.
//
// Slots are looked through one by one: there are at most 256, and comparing stops at the
// first token that differs.
class KvSlots {
 public:
  explicit KvSlots(KvLimits limits);

  // A slot for a sequence of these tokens, at least 1; nothing when all are used. At least
  // its last token is left to be computed. Only what has the same scope is used again. What is
  // `saved` goes there and counts as computed, but serves nobody else before on_restored().
  std::optional<Slot> enter(std::vector<TokenId> tokens, Scope scope = {},
                            std::optional<Saved> saved = {});

  // The slot of a sequence for which more of the tokens' prefix is about to be computed than
  // lies anywhere now: enough that waiting for it saves work. Nothing when there is none.
  std::optional<Slot> comes_soon(std::span<const TokenId> tokens, Scope scope = {}) const;

  // How much of their prefix enter() would find, about.
  std::uint32_t found(std::span<const TokenId> tokens, Scope scope) const;

  void append(Slot slot, TokenId token);  // One more is known.
  void on_computed(Slot slot, std::uint32_t tokens);
  void cut(Slot slot);  // It holds more than what is computed.

  // Into the host's memory; again out of it; dropped there.
  void save(Slot slot, Slot place);
  void restore(Slot slot, Slot place);
  void drop(Slot place);
  void on_restored(Slot slot);
  void on_not_restored(Slot slot);  // And is not to be.

  // Nobody uses it any more.
  void leave(Slot slot);
  // Likewise, and what it holds may be wrong or is in the way. Gives the tokens back.
  std::vector<TokenId> clear(Slot slot);
  // Drops the least wanted of what nobody uses. False when there is none.
  bool evict();

  bool used(Slot slot) const { return at(slot).used; }
  std::span<const TokenId> tokens(Slot slot) const { return at(slot).tokens; }  // Known.
  std::uint32_t computed(Slot slot) const { return at(slot).computed; }         // Of these.
  std::uint32_t reused(Slot slot) const { return at(slot).reused; }  // That enter() found.
  std::uint32_t elsewhere(Slot slot) const;  // Of the computed ones, those in another slot, too.

  // What is to be done before the next batch, in this order, since the last call.
  std::vector<KvChange> take_changes();
  bool has_changes() const { return !changes_.empty(); }
  // How many tokens are copied for it.
  std::uint32_t take_copied();

  KvUse use() const;
  KvCounts take_counts();  // Since the last call.

 private:
  struct Content {
    std::vector<TokenId> tokens = {};
    Scope scope = {};
    std::uint32_t computed = 0;
    std::uint32_t reused = 0;
    std::uint32_t pinned = 0;  // Of its tokens, the first.
    std::uint64_t used_at = 0;
    bool used = false;
    bool coming = false;  // Out of the host's memory.
  };
  // Of what a sequence begins with.
  struct Beginning {
    std::uint32_t computed = 0;
    std::uint32_t reused = 0;
    std::uint32_t pinned = 0;
  };
  struct Prefix {
    Slot slot;
    std::uint32_t tokens = 0;
  };

  Content& at(Slot slot) { return contents_[slot.value]; }
  const Content& at(Slot slot) const { return contents_[slot.value]; }
  Beginning begin_with_prefix(Slot slot, std::span<const TokenId> tokens, Scope scope);
  Beginning begin_with_saved(Slot slot, const Saved& saved);
  Prefix longest(std::span<const TokenId> tokens, Scope scope, std::optional<Slot> target) const;
  bool worth_copying(std::uint32_t tokens, std::size_t all) const;
  std::optional<Slot> lowest_unused() const;
  std::optional<Slot> beside(std::uint32_t adapter) const;
  std::optional<Slot> widest_unused() const;
  std::optional<Slot> empty() const;
  std::optional<Slot> oldest() const;
  std::optional<Slot> least_wanted() const;
  static int rank(const Content& content);
  void pin(Slot slot, std::span<const TokenId> prefix);
  void unpin_for(std::uint64_t owner);
  bool rescue(Slot slot, std::uint32_t kept, Slot other);
  void hold(Slot slot, Slot from, std::uint32_t tokens);

  KvLimits limits_;
  std::vector<Content> contents_;
  KvCells cells_;
  KvCounts counts_;
  std::vector<KvChange> changes_;
  std::uint64_t uses_ = 0;
  std::uint32_t copied_ = 0;
};

}  // namespace seedance::sched
