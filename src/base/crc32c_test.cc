#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace seedance {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesTheKnownAnswers) {
  std::string up;
  std::string down;
  for (char c = 0; c < 32; ++c) {
    up += c;
    down.insert(down.begin(), c);
  }
  constexpr std::uint8_t kRead[48] = {
      0x01, 0xC0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
      0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0,    0};
  const std::string zeros(32, '\0');
  const std::string ones(32, '\xFF');
  const struct {
    Bytes bytes;
    std::uint32_t crc;
  } cases[] = {
      {{}, 0},
      {as_bytes("123456789"), 0xE3069283},
      {as_bytes(zeros), 0x8A9136AA},
      {as_bytes(ones), 0x62A8AB43},
      {as_bytes(up), 0x46DD794E},
      {as_bytes(down), 0x113FDB5C},
      {std::as_bytes(std::span{kRead}), 0xD9963A56},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(crc32c(one.bytes), one.crc);
    EXPECT_EQ(crc32c_by_tables(one.bytes), one.crc);
  }
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstruction) {
  Prng random{1};
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(random.below(256));
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t size = 0; from + size <= text.size(); ++size) {
      const Bytes bytes = as_bytes(text).subspan(from, size);
      EXPECT_EQ(crc32c(bytes), crc32c_by_tables(bytes)) << from << ' ' << size;
      EXPECT_EQ(crc32c(bytes, 0x12345678), crc32c_by_tables(bytes, 0x12345678));
    }
  }
}

TEST(Crc32c, ComesInPieces) {
  const Bytes text = as_bytes("The quick brown fox jumps over the lazy dog");
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.subspan(cut), crc32c(text.first(cut))), crc32c(text)) << cut;
    EXPECT_EQ(crc32c_by_tables(text.subspan(cut), crc32c_by_tables(text.first(cut))), crc32c(text));
  }
}

}  // namespace
}  // namespace seedance
