#include "sched/model_draft.h"

#include <gtest/gtest.h>

#include <array>

namespace seedance::sched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Work = std::vector<DraftWork>;

constexpr std::uint32_t kRoom = 1000;

std::vector<TokenId> text(std::uint32_t count) {
  std::vector<TokenId> tokens;
  for (std::uint32_t at = 0; at < count; ++at) tokens.push_back({static_cast<std::int32_t>(at)});
  return tokens;
}

// A large model to which a row of a guess costs little, and a step a millisecond.
DraftBudget budget() {
  DraftBudget budget;
  for (const std::uint32_t rows : {1U, 2U, 4U, 8U, 16U}) {
    for (int i = 0; i < 2; ++i) budget.on_step(rows, microseconds{1000 + rows});
  }
  return budget;
}

// One sequence and its draft model, carried on by hand.
class Small {
 public:
  explicit Small(std::uint32_t tokens) : tokens_(text(tokens)) {}

  std::uint32_t plan(std::uint32_t room = kRoom, double other_speed = 1) {
    const std::array one{
        ModelDraft::Sequence{.slot = {0}, .tokens = tokens_, .chance = chance, .open = open}};
    return draft.plan(one, budget_, 16, other_speed, room).rows;
  }
  Work work() const { return {draft.work().begin(), draft.work().end()}; }

  // Guesses what text() says.
  void done(Duration took) {
    std::vector<std::vector<TokenId>> guesses(draft.work().size());
    for (std::uint32_t at = 0; at < draft.work()[0].guesses; ++at) {
      guesses[0].push_back({static_cast<std::int32_t>(tokens_.size() + at)});
    }
    draft.on_drafted(guesses, took);
  }

  void say(int token) { tokens_.push_back({token}); }
  void begin(std::uint32_t tokens) { tokens_ = text(tokens); }

  ModelDraft draft{1};
  double chance = 0.5;
  bool open = false;

 private:
  std::vector<TokenId> tokens_;
  const DraftBudget budget_ = budget();
};

TEST(ModelDraft, ReadsFirstThenTriesItself) {
  Small small{20};
  EXPECT_EQ(small.plan(), 1);
  EXPECT_EQ(small.work(), (Work{{{0}, 0, 20, 0}}));
  small.done(milliseconds{1});
  EXPECT_TRUE(small.work().empty());
  small.chance = 0.01;
  EXPECT_EQ(small.plan(), 1) << "nobody uses what it says";
  EXPECT_EQ(small.work(), (Work{{{0}, 19, 1, 4}}));
}

TEST(ModelDraft, HasNotReadWhatIsNotDone) {
  Small small{20};
  for (int i = 0; i < 2; ++i) {
    small.plan();
    EXPECT_EQ(small.work(), (Work{{{0}, 0, 20, 0}}));
    small.draft.drop_work();
    EXPECT_TRUE(small.work().empty());
  }
}

TEST(ModelDraft, ReadsNoMoreAtOnceThanThereIsRoomFor) {
  Small small{30};
  small.plan(20);
  EXPECT_EQ(small.work(), (Work{{{0}, 0, 20, 0}}));
  small.done(milliseconds{1});
  small.plan(20);
  EXPECT_EQ(small.work(), (Work{{{0}, 20, 10, 0}}));
}

TEST(ModelDraft, KeepsWhatCameAndForgetsTheRest) {
  Small small{20};
  small.chance = 0;  // It tries itself with four guesses.
  small.plan();
  small.done(milliseconds{1});
  small.plan();
  small.done(milliseconds{1});  // It guesses 20, 21, 22 and 23.
  small.say(20);
  small.say(21);
  small.say(99);
  small.plan();
  EXPECT_EQ(small.work()[0].begin, 22);
  EXPECT_EQ(small.work()[0].count, 1);
  small.done(milliseconds{1});  // 23 to 26: the last of them is not read.
  for (int token = 23; token < 27; ++token) small.say(token);
  small.say(27);
  small.plan();
  EXPECT_EQ(small.work()[0].begin, 26);
  EXPECT_EQ(small.work()[0].count, 2);
}

TEST(ModelDraft, WaitsForTheJudgementOfATrial) {
  Small small{20};
  small.chance = 0;
  small.plan();
  small.done(milliseconds{1});
  small.open = true;
  small.plan();
  EXPECT_TRUE(small.work().empty());
}

// Of guesses for a sequence that has read all, each of which takes so long.
std::uint32_t rows(double chance, Duration guess, double other_speed = 1) {
  Small small{20};
  small.plan();
  small.done(milliseconds{1});
  for (int i = 0; i < 2; ++i) {
    small.chance = 0;
    small.plan();
    small.done(4 * guess);
  }
  small.chance = chance;
  return small.plan(kRoom, other_speed);
}

TEST(ModelDraft, IsUsedWhereItsTimeIsWon) {
  EXPECT_EQ(rows(0.98, microseconds{50}), 16);
  EXPECT_EQ(rows(0.7, microseconds{100}), 4);
  EXPECT_EQ(rows(0.1, microseconds{100}), 1);
  EXPECT_EQ(rows(0.98, microseconds{1000}), 1);
}

TEST(ModelDraft, IsNotUsedWhereOtherGuessesPromiseMore) {
  EXPECT_GT(rows(0.7, microseconds{100}, 1.5), 1);
  EXPECT_EQ(rows(0.7, microseconds{100}, 5), 1);
}

// Answers of a thousand tokens, of which it guesses none: a twentieth of a step for each that it
// reads or says.
TEST(ModelDraft, CostsNextToNothingWhereItIsOfNoUse) {
  Small small{20};
  Duration drafted{};
  int used = 0;
  for (int said = 0; said < 100'000; ++said) {
    small.chance = small.draft.new_guess().chance();
    used += small.plan() > 1 ? 1 : 0;
    if (!small.work().empty()) {
      const Duration took = microseconds{50 * (small.work()[0].guesses + small.work()[0].count)};
      small.done(took);
      drafted += took;
      small.draft.on_judged(false);
    }
    small.draft.on_computed(milliseconds{1});
    said % 1000 == 999 ? small.begin(20) : small.say(-1);
  }
  EXPECT_LT(used, 20);
  const milliseconds all{100'000};
  EXPECT_LT(drafted, milliseconds{120} + (all / 128));
  EXPECT_GT(drafted, milliseconds{80} + (all / 128)) << "it may become of use";
}

// Reading all of it takes ten seconds, and each step without guesses wastes most of itself.
TEST(ModelDraft, ReadsALongTextWhenThatWouldHavePaid) {
  Small small{10'000};
  small.plan(1);
  small.done(milliseconds{1});
  small.chance = 0.98;
  int steps = 0;
  for (; steps < 100'000; ++steps) {
    EXPECT_EQ(small.plan(), 1);
    if (!small.work().empty()) break;
    small.draft.on_computed(milliseconds{1});
  }
  EXPECT_GT(steps, 9'500);
  EXPECT_LT(steps, 13'000);
  for (std::uint32_t read = 1; read < 10'000; read += kRoom) {
    ASSERT_EQ(small.work()[0].begin, read);
    small.done(milliseconds{small.work()[0].count});
    if (small.plan() > 1) break;
  }
  EXPECT_EQ(small.work()[0].begin, 9'999);
  EXPECT_GT(small.work()[0].guesses, 4);
}

TEST(ModelDraft, ReadsTheShortestFirst) {
  ModelDraft draft{2};
  const auto longer = text(300);
  const std::array both{ModelDraft::Sequence{.slot = {0}, .tokens = longer, .chance = 0.5},
                        ModelDraft::Sequence{.slot = {1}, .tokens = std::span{longer}.first(100)}};
  draft.plan(both, budget(), 8, 1, 250);
  EXPECT_EQ(Work(draft.work().begin(), draft.work().end()),
            (Work{{{1}, 0, 100, 0}, {{0}, 0, 150, 0}}));
}

TEST(ModelDraft, ReadsAllAnewAfterAFailureButNotAtOnce) {
  Small small{20};
  small.plan();
  small.done(milliseconds{1});
  small.plan();
  small.draft.on_failed();
  small.plan();
  EXPECT_TRUE(small.work().empty());
  for (int i = 0; i < 70'000; ++i) small.draft.on_computed(milliseconds{1});
  small.plan();
  EXPECT_EQ(small.work(), (Work{{{0}, 0, 20, 0}}));
}

// Two sequences, one behind the other in other slots, and what is read of them.
Work second(ModelDraft& draft, const std::vector<TokenId>& tokens) {
  const auto read = [&](Slot slot) {
    const std::array one{ModelDraft::Sequence{.slot = slot, .tokens = tokens, .chance = 0.5}};
    draft.plan(one, budget(), 16, 1, kRoom);
  };
  read({0});
  if (draft.work().empty()) return {};
  draft.on_drafted(std::vector<std::vector<TokenId>>(draft.work().size()), milliseconds{1});
  read({1});
  return {draft.work().begin(), draft.work().end()};
}

TEST(ModelDraft, EmptiesWhatIsLeftOnceRoomWasShort) {
  ModelDraft draft{2};
  const auto tokens = text(20);
  EXPECT_EQ(second(draft, tokens), (Work{{{1}, 0, 20, 0}}));
  draft.on_failed();
  EXPECT_EQ(second(draft, tokens), (Work{{{1}, 0, 20, 0}, {{0}, 0, 0, 0}})) << "for nothing";
  draft.drop_work();
  const std::array other{ModelDraft::Sequence{.slot = {1}, .tokens = tokens, .chance = 0.5}};
  draft.plan(other, budget(), 16, 1, kRoom);
  ASSERT_EQ(draft.work().size(), 2U) << "it was not done";
  draft.on_drafted(std::vector<std::vector<TokenId>>(2), milliseconds{1});
  draft.plan(other, budget(), 16, 1, kRoom);
  EXPECT_EQ(draft.work().size(), 1U);
  draft.on_failed();
  draft.plan(other, budget(), 16, 1, kRoom);
  EXPECT_TRUE(draft.work().empty()) << "nobody had left";
}

TEST(ModelDraft, KnowsHowOftenItIsRight) {
  ModelDraft draft{1};
  for (int i = 0; i < 10; ++i) draft.on_judged(true);
  EXPECT_GT(draft.new_guess().chance(), 0.9);
  for (int i = 0; i < 100; ++i) draft.on_judged(false);
  EXPECT_LT(draft.new_guess().chance(), 0.05);
}

}  // namespace
}  // namespace seedance::sched
