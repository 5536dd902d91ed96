// Which tokens an answer in a grammar may go on with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/id.h"
#include "text/grammar_matcher.h"
#include "text/piece_table.h"

namespace seedance::text {

// Tokens by id, a bit for each.
class TokenSet {
 public:
  explicit TokenSet(std::size_t tokens) : bits_((tokens + 63) / 64) {}

  void add(TokenId token);
  bool contains(TokenId token) const;
  std::size_t bytes() const { return bits_.size() * sizeof(std::uint64_t); }

  friend bool operator==(const TokenSet&, const TokenSet&) = default;

 private:
  std::vector<std::uint64_t> bits_;
};

// The pieces of one vocabulary in the order of their bytes, so that those which begin alike
// are matched together. Built once and then only read (any thread).
class PieceOrder {
 public:
  explicit PieceOrder(PieceTable pieces);

  const PieceTable& pieces() const { return pieces_; }

  // The tokens whose bytes may come in `state`, and the end tokens if the text may end there.
  // Control tokens are never among them: they show nothing.
  TokenSet allowed(GrammarMatcher& matcher, const GrammarMatcher::State& state) const;

 private:
  struct Entry {
    TokenId token;
    std::uint32_t common = 0;  // Bytes that it begins with as the one before it does.
  };

  PieceTable pieces_;
  std::vector<Entry> entries_;
  std::vector<TokenId> ends_;
};

// The place of one answer in its grammar. Belongs to one thread.
class TokenConstraint {
 public:
  // `order` outlives this.
  TokenConstraint(Grammar grammar, const PieceOrder& order);

  bool allows(TokenId token);

  // All tokens that are allowed. Valid until the next call.
  const TokenSet& allowed();

  // Goes on behind a token. False, and then nothing is allowed any more, when it is not
  // allowed. Behind an end token nothing may come.
  bool accept(TokenId token);

  std::size_t bytes() const;  // Of memory that it takes, about.

  // The grammar has taken more work than one answer may: what else is said is not to be
  // relied on.
  bool exhausted() const { return matcher_.exhausted(); }

 private:
  GrammarMatcher::State after(TokenId token);

  GrammarMatcher matcher_;
  GrammarMatcher::State state_;
  const PieceOrder* order_;
  struct Known {
    GrammarMatcher::State state;
    TokenSet allowed;
  };
  std::vector<Known> known_;  // The latest used first.
};

}  // namespace seedance::text
