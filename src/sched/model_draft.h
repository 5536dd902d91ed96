// When a small model is to guess what a large one will say, and what it has to read for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "sched/draft_budget.h"
#include "sched/guess.h"
#include "sched/kv_slots.h"
#include "sched/row_costs.h"

namespace seedance::sched {

// So many unread tokens of each sequence are read together with guessing, at hardly more cost.
inline constexpr std::uint32_t kReadAlongMax = 8;

// Of a draft model in one slot of its memory: it keeps what it holds before `begin`, reads `count`
// tokens of the sequence from there on, and says what it would go on with. All that is to be done
// before one batch is of the same number of guesses, but for slots that it is to empty: those come
// last, and nothing is read or guessed there.
struct DraftWork {
  Slot slot;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  std::uint32_t guesses = 0;  // 0 = it only reads.

  friend bool operator==(const DraftWork&, const DraftWork&) = default;
};

// Keeps the books of a draft model: what it has read of each sequence, how often it was right,
// and what its work takes. It reads what a sequence said, and forgets what was guessed wrongly,
// when it is to guess for it and not before.
//
// Its guesses are used where, with the time that they take, the sequences get on faster
// (DraftBudget). To know that, it has to guess now and then though nobody uses it, and to read
// what it has not read yet. Both are paid from a purse, so that a model which never helps costs
// next to nothing: a small part of all time goes into it, and all the time that would have been
// saved had more been read. So the longer guesses would have helped, the longer a text is read.
//
// What it read of a sequence that is gone stays in the slot: the next one there may begin alike.
// Where slots share their room that fills it, and reading fails. Nobody is to blame for that but
// what is gone, so nothing is paid, and from then on slots are emptied when nobody decodes there.
//
// Protocol: plan(), then, where there is work, the owner does it and calls on_drafted() or
// on_failed(), or drop_work() where it does not; then on_computed(), and on_judged() for each guess
// that a token proves right or wrong. A value; belongs to one thread.
class ModelDraft {
 public:
  explicit ModelDraft(std::uint32_t slots);

  // A sequence that decodes.
  struct Sequence {
    Slot slot;
    std::span<const TokenId> tokens;
    double chance = 0;  // That a guess is right.
    bool open = false;  // It has guesses that no token has judged yet.
  };

  // What its guesses are worth in a step: more than one row only if they are to be used.
  // `other_speed` is that of the best without them; at most `room` tokens are read, if nobody is
  // guessed for.
  DraftBudget::Choice plan(std::span<const Sequence> sequences, const DraftBudget& budget,
                           std::uint32_t rows_max, double other_speed, std::uint32_t room);
  std::span<const DraftWork> work() const { return work_; }

  void on_drafted(std::span<const std::vector<TokenId>> guesses, Duration took);  // All of work().
  void drop_work();                 // It is not done: there is another plan first.
  void on_failed();                 // It holds nothing any more.
  void on_computed(Duration took);  // The step.
  void on_judged(bool right);

  // Of a sequence that it has not guessed for yet.
  Guess new_guess() const;

 private:
  struct Text {
    const Sequence* sequence = nullptr;
    std::uint32_t read = 0;  // Of its tokens.

    std::uint32_t unread() const {
      return static_cast<std::uint32_t>(sequence->tokens.size()) - read;
    }
  };

  DraftBudget::Choice plan_work(std::span<const Sequence> sequences, const DraftBudget& budget,
                                std::uint32_t rows_max, double other_speed, std::uint32_t room);
  Text text_of(const Sequence& sequence) const;
  bool read(std::vector<Text>& behind, std::uint32_t room);
  void guess(std::span<const Text> ready, std::uint32_t guesses);
  void find_left(std::span<const Sequence> sequences);
  void add_work(const Text& text, std::uint32_t begin, std::uint32_t count, std::uint32_t guesses);

  std::vector<std::vector<TokenId>> held_;  // By slot.
  std::vector<bool> filled_;                // Slots in which it may have read something.
  std::vector<Slot> left_;  // Of these, those where nobody decoded in the last plan.
  bool empties_ = false;    // Room is short.
  std::vector<DraftWork> work_;
  bool used_ = false;   // The guesses of work_.
  double forgone_ = 0;  // Part of the step that would be saved had more been read.
  double purse_ns_;
  double read_ns_ = 0;  // What a token takes; 0 = not known.
  RowCosts guess_costs_;
  double chance_ = 0.5;  // Of all sequences.
  std::uint64_t judged_ = 0;
};

}  // namespace seedance::sched
