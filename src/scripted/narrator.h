// What the scripted engine says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/prefetch.h"
#include "scripted/script.h"
#include "scripted/vocabulary.h"

namespace seedance::scripted {

enum class Ending : std::uint8_t { natural, never };

// Tells one stream's tokens, each a pure function of the script, the prompt and
// the tokens before it: a narrator that is told the tokens of another goes on as
// that one would, and one that is told others goes on differently. A value; the
// vocabulary outlives it.
class Narrator {
 public:
  // `forgotten` tokens were said first, and it knows nothing of them but their number.
  Narrator(const Vocabulary& vocabulary, const Script& script, std::span<const TokenId> prompt,
           Ending ending, std::uint64_t forgotten = 0);

  // The token at the current position.
  TokenId next() const { return said_ >= end_at_ ? kEnd : planned_[at_]; }

  // next() is called soon.
  void look_ahead() const { prefetch(&planned_[at_]); }

  // `token` was said at the current position.
  void take(TokenId token);

  std::uint64_t said() const { return said_; }  // Tokens so far.

  // A number that depends on everything so far, for what else must be pure.
  std::uint64_t draw() const { return hash_; }

 private:
  void absorb(TokenId token);
  void plan_sentence();

  const Vocabulary* vocabulary_;
  Mode mode_;
  std::uint64_t hash_;  // Of the seed, the prompt and the tokens so far.
  std::uint64_t said_ = 0;
  std::uint64_t sentences_ = 0;
  std::uint64_t end_at_ = 0;      // Where the end token stands.
  std::vector<TokenId> planned_;  // Not empty.
  std::size_t at_ = 0;            // In planned_.
};

}  // namespace seedance::scripted
