#include "text/piece_table.h"

#include <gtest/gtest.h>

namespace seedance::text {
namespace {

PieceTable small_table() {
  PieceTable table;
  table.add("<s>", PieceKind::control);
  table.add(" wave", PieceKind::text);
  table.add("", PieceKind::text);
  table.add(
      "\xF0\x9F\0"
      "x",
      PieceKind::text);
  table.add("</s>", PieceKind::end);
  return table;
}

TEST(PieceTable, ShowsTextPiecesOnly) {
  const PieceTable table = small_table();
  ASSERT_EQ(table.size(), 5U);
  EXPECT_EQ(table.visible({1}), " wave");
  EXPECT_EQ(table.visible({0}), "");
  EXPECT_EQ(table.visible({4}), "");
  EXPECT_EQ(table.raw({0}), "<s>");
  EXPECT_EQ(table.raw({4}), "</s>");
  EXPECT_EQ(table.kind({4}), PieceKind::end);
}

TEST(PieceTable, GivesNothingForIdsOutsideTheTable) {
  const PieceTable table = small_table();
  for (const TokenId token : {TokenId{-1}, TokenId{5}, TokenId{INT32_MIN}, TokenId{INT32_MAX}}) {
    EXPECT_FALSE(table.contains(token));
    EXPECT_EQ(table.visible(token), "");
    EXPECT_EQ(table.raw(token), "");
    EXPECT_EQ(table.kind(token), PieceKind::control);
  }
}

TEST(PieceTable, KnowsWhichPiecesAreWhole) {
  PieceTable table;
  const std::pair<std::string_view, bool> pieces[] = {{"", true},
                                                      {" wave", true},
                                                      {"\u00e9\U0001F30A", true},
                                                      {"\xF0\x9F", false},
                                                      {"\xA9", false}};
  for (const auto& [bytes, whole] : pieces) table.add(bytes, PieceKind::text);
  const PieceTable back = *PieceTable::decode(as_bytes(table.encode()));
  for (std::int32_t at = 0; const auto& [bytes, whole] : pieces) {
    EXPECT_EQ(back.piece({at}).bytes, bytes);
    EXPECT_EQ(back.piece({at++}).whole, whole) << bytes;
  }
}

TEST(PieceTable, HasTheDocumentedBytes) {
  PieceTable table;
  table.add("ab", PieceKind::end);
  EXPECT_EQ(table.encode(), std::string("\x01\0\0\0\x02\x02\0\0\0ab", 11));
}

TEST(PieceTable, ReadsBackAndRefusesEveryCut) {
  const PieceTable table = small_table();
  const std::string bytes = table.encode();
  const auto back = PieceTable::decode(as_bytes(bytes));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, table);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(PieceTable::decode(as_bytes(bytes).first(size))) << size;
  }
  EXPECT_FALSE(PieceTable::decode(as_bytes(bytes + '\0')));
}

TEST(PieceTable, RefusesUnknownKindsAndCountsThatLie) {
  std::string bytes = small_table().encode();
  bytes[4] = 3;
  EXPECT_FALSE(PieceTable::decode(as_bytes(bytes)));
  EXPECT_FALSE(PieceTable::decode(as_bytes("\xFF\xFF\xFF\xFF")));
}

}  // namespace
}  // namespace seedance::text
