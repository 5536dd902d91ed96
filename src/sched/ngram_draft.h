// What may come next in a sequence, guessed from the sequence itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "sched/guess.h"

namespace seedance::sched {

// Guesses that a sequence goes on as it did the last time that its last four, three or two
// tokens came (prompt lookup decoding, Saxena 2023).
//
// Each token is looked at a bounded number of times, and takes 24 to 48 bytes. Whoever chooses
// tokens so that they collide in the table makes it forget, not slow. A value; belongs to one
// thread.
class NgramDraft {
 public:
  // What comes after `tokens`, which since the last call were only appended to: nothing, or as
  // many as are asked for; what reaches beyond the end goes on with the guess itself. Valid
  // until the next call.
  std::span<const TokenId> guess(std::span<const TokenId> tokens, std::uint32_t count);

  // The next token after those; each one is told. Whether it was the one guessed.
  bool on_token(TokenId token) { return guess_.on_token(token); }

  // As Guess has them.
  std::span<const TokenId> rest() const { return guess_.rest(); }
  double chance() const { return guess_.chance(); }

 private:
  // Where an n-gram ended last, with its length; 0 = none.
  using Entry = std::uint32_t;

  std::size_t place(std::span<const TokenId> tokens, Entry entry) const;
  void insert(std::span<const TokenId> tokens, Entry entry);
  void grow(std::span<const TokenId> tokens);

  std::vector<Entry> table_;
  std::size_t used_ = 0;     // Entries in it.
  std::size_t indexed_ = 0;  // Tokens at which n-grams end that are in it.
  Guess guess_;
};

}  // namespace seedance::sched
