#include "text/token_constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

namespace seedance::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TokenId kEnd{0};
constexpr TokenId kControl{1};

// The end, a control token, then the given pieces.
PieceTable table(const std::vector<std::string>& pieces) {
  PieceTable result;
  result.add("</s>", PieceKind::end);
  result.add("<x>", PieceKind::control);
  for (const std::string& piece : pieces) result.add(piece, PieceKind::text);
  return result;
}

Grammar grammar(std::string_view gbnf) {
  auto result = Grammar::parse(gbnf);
  EXPECT_TRUE(result);
  return *std::move(result);
}

std::vector<int> allowed(TokenConstraint& constraint, const PieceOrder& order) {
  std::vector<int> result;
  const TokenSet& set = constraint.allowed();
  for (int id = 0; std::cmp_less(id, order.pieces().size()); ++id) {
    EXPECT_EQ(set.contains({id}), constraint.allows({id})) << id;
    if (set.contains({id})) result.push_back(id);
  }
  return result;
}

TEST(TokenConstraint, AllowsWhatTheGrammarHasNext) {
  const PieceOrder order{table({"a", "ab", "abc", "b", "bc", "", "c", "<x>"})};
  TokenConstraint constraint{grammar("root ::= \"ab\" [cd]?"), order};
  EXPECT_THAT(allowed(constraint, order), ElementsAre(2, 3, 4));
  EXPECT_TRUE(constraint.accept({2}));
  EXPECT_THAT(allowed(constraint, order), ElementsAre(5, 6));
  EXPECT_TRUE(constraint.accept({5}));
  EXPECT_THAT(allowed(constraint, order), ElementsAre(0, 8));
  EXPECT_TRUE(constraint.accept(kEnd));
  EXPECT_THAT(allowed(constraint, order), IsEmpty());
}

TEST(TokenConstraint, NeverAllowsWhatShowsNothing) {
  const PieceOrder order{table({"<", "x>", "<x>", ""})};
  TokenConstraint constraint{grammar("root ::= .*"), order};
  EXPECT_THAT(allowed(constraint, order), ElementsAre(0, 2, 3, 4));
  EXPECT_FALSE(constraint.accept(kControl));
  EXPECT_THAT(allowed(constraint, order), IsEmpty());
}

TEST(TokenConstraint, AllowsAnEndOnlyWhereTheTextIsWhole) {
  const PieceOrder order{table({"\xC3", "\xA9", "e"})};
  TokenConstraint constraint{grammar("root ::= [\u00e9e]*"), order};
  EXPECT_THAT(allowed(constraint, order), ElementsAre(0, 2, 4));
  EXPECT_TRUE(constraint.accept({2}));
  EXPECT_THAT(allowed(constraint, order), ElementsAre(3));
  EXPECT_TRUE(constraint.accept({3}));
  EXPECT_THAT(allowed(constraint, order), ElementsAre(0, 2, 4));
}

TEST(TokenConstraint, RefusesWhatDoesNotFit) {
  const PieceOrder order{table({"a", "b"})};
  TokenConstraint constraint{grammar("root ::= \"a\"+"), order};
  EXPECT_FALSE(constraint.allows(kEnd));
  EXPECT_FALSE(constraint.accept({3}));
  EXPECT_THAT(allowed(constraint, order), IsEmpty());
  EXPECT_FALSE(constraint.exhausted());
}

// The walk over sorted pieces says the same as each piece alone, wherever the text stands.
TEST(TokenConstraint, AllTogetherAreAllowedAsEachAlone) {
  Prng random{1};
  std::vector<std::string> pieces;
  for (int i = 0; i < 600; ++i) {
    std::string piece;
    do piece += "ab,\"{}: \xC3\xA9"[random.below(10)];
    while (random.below(4) > 0);
    pieces.push_back(std::move(piece));
  }
  const PieceOrder order{table(pieces)};
  const Grammar rules = grammar(
      "root ::= object\nobject ::= \"{\" (pair (\",\" pair)*)? \"}\"\n"
      "pair ::= string \":\" \" \"? (string | object)\nstring ::= \"\\\"\" [^\"{}]* \"\\\"\"");
  for (int run = 0; run < 20; ++run) {
    TokenConstraint constraint{rules, order};
    for (int step = 0; step < 30; ++step) {
      const auto tokens = allowed(constraint, order);
      if (tokens.empty()) break;
      EXPECT_TRUE(constraint.accept({tokens[random.below(tokens.size())]}));
    }
  }
}

// A hostile grammar costs so much and no more, and says so.
TEST(TokenConstraint, SaysWhenItIsExhausted) {
  const PieceOrder order{table({std::string(64, '/') + "\n", "/", "a"})};
  TokenConstraint constraint{grammar("root ::= \"/\" root \"a\" | \"/\" root \"b\" | \"q\""),
                             order};
  constraint.allowed();
  EXPECT_TRUE(constraint.exhausted());
}

TEST(TokenConstraint, TellsAboutHowMuchMemoryItTakes) {
  const PieceOrder order{table({"a", "b", "c", "ab", "\xC3", "\xC3\xA9"})};
  for (const std::string_view gbnf :
       {"root ::= [^x]{1500}", "root ::= \"a\" | \"b\"",
        "root ::= [ab]{400} | [bc]{400} | \"a\" root \"b\" | \"ab\" root \"c\""}) {
    const std::size_t before = mallinfo2().uordblks;
    TokenConstraint constraint{grammar(gbnf), order};
    for (int i = 0; i < 1000 && constraint.allowed().contains({2}); ++i) constraint.accept({2});
    const std::size_t taken = mallinfo2().uordblks - before;
    if (taken == 0) GTEST_SKIP() << "this malloc does not tell";
    EXPECT_GT(constraint.bytes(), taken / 2) << gbnf;
    EXPECT_LT(constraint.bytes(), taken * 3 / 2 + 512) << gbnf;
  }
}

}  // namespace
}  // namespace seedance::text
