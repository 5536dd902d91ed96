#include "api/event_id.h"

#include <gtest/gtest.h>

#include <limits>

namespace seedance::api {
namespace {

constexpr StreamId kSome{.high = 0x0123456789ABCDEF, .low = 42};

TEST(EventId, ReadsWhatItWrites) {
  constexpr auto kEpochMax = std::numeric_limits<std::uint32_t>::max();
  constexpr auto kOffsetMax = std::numeric_limits<std::uint64_t>::max();
  for (const EventId& id : {EventId{kSome, {1}, {0}}, EventId{kSome, {7}, {1234}},
                            EventId{{}, {kEpochMax}, {kOffsetMax}}}) {
    EXPECT_EQ(parse_event_id(to_text(id)), id);
  }
  EXPECT_EQ(to_text(EventId{kSome, {2}, {30}}), to_text(kSome) + ":2:30");
}

TEST(EventId, TakesNothingElse) {
  const std::string stream = to_text(kSome);
  for (const std::string& text :
       {std::string{}, stream, stream + ":1", stream + ":1:", stream + "::1", stream + ":1:2:3",
        stream + ":01:2", stream + ":1:02", stream + ":+1:2", stream + ":1:-2", stream + ": 1:2",
        stream + ":1:2 ", stream + ":4294967296:2", stream + ":1:18446744073709551616",
        stream + ":1:0x2", std::string{"st_1:1:2"}, std::string{":1:2"}, "x" + stream + ":1:2"}) {
    EXPECT_EQ(parse_event_id(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, TakesDigitsOnly) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("120"), 120U);
  for (const auto* text : {"", "00", "-1", "+1", "1.", "1e3", " 1", "99999999999999999999"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace seedance::api
