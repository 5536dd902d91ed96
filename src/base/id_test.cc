#include "base/id.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

constexpr std::array<std::uint8_t, 10> kEntropy{1, 2, 3, 4, 5, 6, 7, 8, 9, 255};

TEST(StreamId, ReadsBackWhatItWrites) {
  for (const StreamId id : {StreamId{}, StreamId{UINT64_MAX, UINT64_MAX}, StreamId{1, 1ULL << 63},
                            make_stream_id(1'700'000'000'000, kEntropy)}) {
    EXPECT_EQ(parse_stream_id(to_text(id)), id);
  }
}

TEST(StreamId, SortsByTimeInBothForms) {
  const StreamId early = make_stream_id(1000, kEntropy);
  const StreamId late = make_stream_id(1001, {});
  EXPECT_LT(early, late);
  EXPECT_LT(to_text(early), to_text(late));
}

TEST(StreamId, KeepsEveryByteOfEntropy) {
  for (std::size_t i = 0; i < kEntropy.size(); ++i) {
    auto changed = kEntropy;
    changed.at(i) ^= 0x80;
    EXPECT_NE(make_stream_id(7, kEntropy), make_stream_id(7, changed)) << i;
  }
}

TEST(StreamId, RefusesAnythingThatItDoesNotWrite) {
  const std::string good = to_text(make_stream_id(5, kEntropy));
  EXPECT_TRUE(parse_stream_id(good));
  EXPECT_FALSE(parse_stream_id(""));
  EXPECT_FALSE(parse_stream_id("st_"));
  EXPECT_FALSE(parse_stream_id(good + "0"));
  EXPECT_FALSE(parse_stream_id(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(parse_stream_id("xx_" + good.substr(3)));
  EXPECT_FALSE(parse_stream_id("st_" + std::string(25, '0') + "u"));  // Not a Crockford digit.
  EXPECT_FALSE(parse_stream_id("st_8" + std::string(25, '0')));       // Over 128 bits.
}

}  // namespace
}  // namespace seedance
