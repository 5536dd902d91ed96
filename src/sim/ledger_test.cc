#include "sim/ledger.h"

#include <gmock/gmock.h>

#include "sim/test_records.h"

namespace seedance::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What is wrong with these records.
template <typename... Records>
std::string wrong_with(const Records&... records) {
  Journalled j;
  j.ledger.on_written(Journalled::bytes_of(records...));
  return j.world.violation().value_or("");
}

std::string segment_of(std::uint32_t number, std::string_view records) {
  std::string out;
  stream::encode(stream::SegmentHeader{.segment = number}, out);
  out += records;
  return out;
}

TEST(Ledger, KnowsWhenEachTokenWasCommitted) {
  Journalled j;
  j.ledger.on_written(Journalled::bytes_of(j.state()));
  const Moment before = j.world.moment();
  j.ledger.on_written(Journalled::bytes_of(j.tokens(0, 2)));
  j.ledger.on_written(Journalled::bytes_of(j.tokens(2, 10), j.end()));
  ASSERT_EQ(j.world.violation(), std::nullopt);
  const Entry& entry = *j.ledger.find(kStream);
  EXPECT_LE(entry.accepted, before);
  ASSERT_EQ(entry.tokens.size(), 10U);
  EXPECT_GT(entry.tokens[0], before);
  EXPECT_EQ(entry.tokens[0], entry.tokens[1]);
  EXPECT_GT(entry.tokens[2], entry.tokens[1]);
  EXPECT_THAT(j.ledger.take_ended(), ElementsAre(kStream));
}

TEST(Ledger, FindsWhatMustNotBeWritten) {
  const Journalled j;
  EXPECT_EQ(wrong_with(j.state(), j.tokens(0, 10), j.end()), "");
  EXPECT_THAT(wrong_with(j.tokens(0, 1)), HasSubstr("tokens of nothing"));
  EXPECT_THAT(wrong_with(j.state(), j.tokens(1, 2)), HasSubstr("a gap"));
  EXPECT_THAT(wrong_with(j.state(1), j.tokens(0, 1)), HasSubstr("a gap"));
  EXPECT_THAT(wrong_with(j.state(), j.end()), HasSubstr("an end behind another number"));
  EXPECT_THAT(wrong_with(j.state(10), j.end(), j.end()), HasSubstr("a second end"));
  EXPECT_THAT(wrong_with(j.state(2), j.state(1)), HasSubstr("fewer tokens"));

  stream::TokensRecord old = j.tokens(0, 1);
  old.gen = {0};
  EXPECT_THAT(wrong_with(j.state(), old), HasSubstr("another gen"));
  stream::TokensRecord other = j.tokens(0, 1);
  ++other.tokens.ids[0].value;
  EXPECT_THAT(wrong_with(j.state(), other), HasSubstr("a token of another story"));
  stream::StateRecord stranger = j.state();
  stranger.header.tenant = "somebody";
  EXPECT_THAT(wrong_with(stranger), HasSubstr("another tenant"));
  stranger = j.state();
  stranger.header.stream = {9, 9};
  EXPECT_THAT(wrong_with(stranger), HasSubstr("nobody asked"));
}

TEST(Ledger, OneKeyNamesOneStream) {
  Journalled j;
  const Request request{.prompt = "twice", .tokens_max = 10, .key = "k"};
  const StoryId story = j.stories.add(request, "tenant");
  const auto state = [&](StreamId stream) {
    stream::StateRecord record = j.state();
    record.header.stream = stream;
    record.header.key = "k";
    record.header.request = core::encode({.prompt = j.stories[story].prompt, .tokens_max = 10});
    return record;
  };
  constexpr StreamId kOther{1, 2};
  constexpr StreamId kThird{1, 3};
  for (const StreamId stream : {kOther, kThird}) j.ledger.expect(stream, story);
  j.ledger.on_written(Journalled::bytes_of(state(kOther), stream::ForgetRecord{kOther}));
  j.ledger.on_written(Journalled::bytes_of(state(kThird)));
  EXPECT_EQ(j.world.violation(), std::nullopt) << "a forgotten stream holds no key";
  constexpr StreamId kFourth{1, 4};
  j.ledger.expect(kFourth, story);
  j.ledger.on_written(Journalled::bytes_of(state(kFourth)));
  EXPECT_THAT(j.world.violation().value_or(""), HasSubstr("another stream already"));
}

TEST(Ledger, TheDeathOfAProcessTakesNothing) {
  Journalled j;
  const std::string records = Journalled::bytes_of(j.state(), j.tokens(0, 2));
  j.ledger.on_written(records);
  j.ledger.on_death({{1, segment_of(1, records + "torn")}}, Death::of_process);
  EXPECT_EQ(j.world.violation(), std::nullopt);
  j.ledger.on_death({{1, segment_of(1, Journalled::bytes_of(j.state()))}}, Death::of_process);
  EXPECT_THAT(j.world.violation().value_or(""), HasSubstr("gone with the death of a process"));
}

// Nobody needs its segments from there on.
TEST(Ledger, WhatIsToBeForgottenMayBeGoneWithTheDeathOfAProcess) {
  Journalled j;
  const std::string records = Journalled::bytes_of(j.state(), j.tokens(0, 2));
  j.ledger.on_written(records);
  j.ledger.on_handed_over(Journalled::bytes_of(stream::ForgetRecord{kStream}));
  j.ledger.on_death({{1, segment_of(1, records)}}, Death::of_process);
  EXPECT_TRUE(j.ledger.find(kStream)->there);
  j.ledger.on_handed_over(Journalled::bytes_of(stream::ForgetRecord{kStream}));
  j.ledger.on_death({}, Death::of_process);
  EXPECT_FALSE(j.ledger.find(kStream)->there);
  EXPECT_EQ(j.world.violation(), std::nullopt);
  EXPECT_THAT(j.ledger.take_forgotten(), testing::ElementsAre(kStream));
}

TEST(Ledger, AnEpochOfWhichTokensAreLostIsOver) {
  Journalled j;
  j.ledger.on_written(Journalled::bytes_of(j.state(), j.tokens(0, 3)));
  const Moment shown = j.world.moment();
  j.ledger.on_death({{1, segment_of(1, Journalled::bytes_of(j.state()))}}, Death::of_machine);
  const auto old = j.ledger.find(kStream)->incarnation({1});
  ASSERT_TRUE(old);
  EXPECT_EQ(old->tokens.size(), 3U);
  EXPECT_GE(old->until, shown);

  j.ledger.on_written(Journalled::bytes_of(j.state(0, {5}), j.tokens(0, 1)));
  EXPECT_EQ(j.world.violation(), std::nullopt);
  EXPECT_EQ(j.ledger.find(kStream)->incarnation({5})->tokens.size(), 1U);
}

TEST(Ledger, NothingFollowsInAnEpochOfWhichTokensAreLost) {
  Journalled j;
  j.ledger.on_written(Journalled::bytes_of(j.state(), j.tokens(0, 3)));
  j.ledger.on_death({{1, segment_of(1, Journalled::bytes_of(j.state()))}}, Death::of_machine);
  j.ledger.on_written(Journalled::bytes_of(j.tokens(0, 1)));
  EXPECT_THAT(j.world.violation().value_or(""), HasSubstr("some are lost"));
}

TEST(Ledger, ComparesWithWhatTheServerFound) {
  Journalled j;
  j.ledger.on_written(Journalled::bytes_of(j.state(), j.tokens(0, 2)));
  stream::Recovery recovery{.streams = {{.state = j.state(2), .segment = 1}}, .segments = {}};
  j.ledger.compare(recovery);
  EXPECT_EQ(j.world.violation(), std::nullopt);
  recovery.streams[0].state = j.state(1);
  j.ledger.compare(recovery);
  EXPECT_THAT(j.world.violation().value_or(""), HasSubstr("recovery found another stream"));
}

}  // namespace
}  // namespace seedance::sim
