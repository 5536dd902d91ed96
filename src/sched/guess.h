// Tokens that are guessed to come next in a sequence.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/id.h"

namespace seedance::sched {

// Judges guesses by the tokens that come, whether or not anybody used them: so that it costs
// nothing to know how good they are. A value; belongs to one thread.
class Guess {
 public:
  Guess() = default;
  // `newest` is the share of the newest guess in the average.
  Guess(double chance, double newest) : chance_(chance), newest_(newest) {}

  // What was guessed before is forgotten.
  void set(std::span<const TokenId> tokens);
  void add(TokenId token) { tokens_.push_back(token); }

  // What comes next. Whether it was the token guessed; after one that was not, nothing is guessed.
  bool on_token(TokenId token);

  // What is guessed beyond the tokens that came. Valid until the next change.
  std::span<const TokenId> rest() const { return std::span{tokens_}.subspan(told_); }

  // How likely the next guess is right, judged by the last ones: 0 to 1.
  double chance() const { return chance_; }

 private:
  std::vector<TokenId> tokens_;
  std::size_t told_ = 0;  // Of tokens_.
  double chance_ = 0.5;
  double newest_ = 0.125;
};

}  // namespace seedance::sched
