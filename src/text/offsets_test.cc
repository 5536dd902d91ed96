#include "text/offsets.h"

#include <gtest/gtest.h>

namespace seedance::text {
namespace {

using Offsets = std::vector<std::size_t>;

class TokenOffsets : public testing::Test {
 protected:
  TokenOffsets() {
    pieces_.add("<s>", PieceKind::control);
    pieces_.add("the", PieceKind::text);
    pieces_.add(" the", PieceKind::text);
    pieces_.add(" ", PieceKind::text);
    pieces_.add("\xC3", PieceKind::text);
    pieces_.add("\xA9", PieceKind::text);
  }

  Result<Offsets> offsets(std::vector<TokenId> tokens, std::string_view text) const {
    return token_offsets(tokens, pieces_, text);
  }

  PieceTable pieces_;
};

TEST_F(TokenOffsets, AreWhereTokensBegin) {
  EXPECT_EQ(offsets({{0}, {1}, {2}, {4}, {5}, {0}}, "the the\xC3\xA9"),
            (Offsets{0, 0, 3, 7, 8, 9}));
  EXPECT_EQ(offsets({}, ""), Offsets{});
}

TEST_F(TokenOffsets, AllowOneSpaceInFront) {
  EXPECT_EQ(offsets({{0}, {2}, {2}}, "the the"), (Offsets{0, 0, 3}));
  EXPECT_EQ(offsets({{3}, {1}}, "the"), (Offsets{0, 0}));
  EXPECT_EQ(offsets({{3}, {3}, {1}}, " the"), (Offsets{0, 0, 1}));
  EXPECT_FALSE(offsets({{3}, {3}, {1}}, "the"));
}

TEST_F(TokenOffsets, RefuseTokensThatAreNotTheText) {
  EXPECT_FALSE(offsets({{1}}, "The"));
  EXPECT_FALSE(offsets({{1}}, "the "));
  EXPECT_FALSE(offsets({{1}, {1}}, "hethe"));
  EXPECT_FALSE(offsets({{99}}, "the"));
}

}  // namespace
}  // namespace seedance::text
