#include "llama/draft_runner.h"

#include <gtest/gtest.h>

#include <array>

#include "base/check.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using Guesses = std::vector<std::vector<TokenId>>;
using sched::DraftWork;

// A model by itself: whose draft it is does not matter here.
class DraftRunnerTest : public testing::Test {
 protected:
  DraftRunnerTest() {
    LogCapture quiet;
    auto model = Model::load({.model_path = test_model_path(),
                              .context_tokens = 256,
                              .sequences_max = 2,
                              .threads = 1,
                              .batch_tokens_max = 512},
                             quiet, [](float) {});
    SEEDANCE_CHECK(model.has_value(), "the test model loads");
    model_ = *std::move(model);
    runner_.emplace(*model_);
  }

  std::optional<Guesses> run(const std::vector<DraftWork>& work) {
    std::vector<std::span<const TokenId>> texts;
    for (const DraftWork& each : work) {
      texts.push_back(std::span{texts_[each.slot.value]}.subspan(each.begin, each.count));
    }
    return runner_->run(work, texts);
  }

  // Whether each is about the best that may follow the first tokens of a text.
  void expect_best(std::uint32_t slot, std::size_t known, const std::vector<TokenId>& guesses) {
    LoneModel lone;
    EXPECT_LT(lone.regret(std::span{texts_[slot]}.first(known), guesses), kEpsilon);
  }

  std::array<std::vector<TokenId>, 2> texts_{random_prompt(1, 40), random_prompt(2, 30)};
  std::unique_ptr<Model> model_;
  std::optional<DraftRunner> runner_;
};

TEST_F(DraftRunnerTest, GuessesWhatIsBest) {
  EXPECT_EQ(run({{{0}, 0, 20, 0}, {{1}, 0, 29, 0}}), (Guesses{{}, {}}));
  const auto guesses = run({{{0}, 20, 20, 4}, {{1}, 29, 1, 4}});
  ASSERT_TRUE(guesses);
  EXPECT_EQ(guesses->at(0).size(), 4U);
  expect_best(0, 40, guesses->at(0));
  expect_best(1, 30, guesses->at(1));
}

TEST_F(DraftRunnerTest, ForgetsWhatItIsToReadAgain) {
  ASSERT_TRUE(run({{{0}, 0, 40, 4}}));
  texts_[0].resize(25);
  const auto guesses = run({{{0}, 24, 1, 3}});
  ASSERT_TRUE(guesses);
  expect_best(0, 25, guesses->at(0));
}

TEST_F(DraftRunnerTest, EmptiesSlots) {
  ASSERT_TRUE(run({{{0}, 0, 40, 0}, {{1}, 0, 30, 0}}));
  const auto guesses = run({{{1}, 29, 1, 3}, {{0}, 0, 0, 0}});
  ASSERT_TRUE(guesses);
  EXPECT_EQ(guesses->size(), 2U);
  EXPECT_TRUE(guesses->at(1).empty());
  expect_best(1, 30, guesses->at(0));
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(model_->context()), 0), -1);
}

TEST_F(DraftRunnerTest, HoldsNothingAfterAFailure) {
  texts_[0] = random_prompt(1, 500);
  EXPECT_FALSE(run({{{0}, 0, 500, 2}})) << "a sequence has room for 256";
  texts_[0].resize(40);
  const auto guesses = run({{{0}, 0, 40, 2}});
  ASSERT_TRUE(guesses);
  expect_best(0, 40, guesses->at(0));
}

}  // namespace
}  // namespace seedance::llama
