#include "llama/batch.h"

#include <gtest/gtest.h>

namespace seedance::llama {
namespace {

TEST(Batch, GivesEachTokenItsPlace) {
  Batch batch{3};
  batch.add({2}, 7, {11}, false);
  batch.add({2}, 8, {12}, true);
  const llama_batch view = batch.view();
  ASSERT_EQ(view.n_tokens, 2);
  EXPECT_EQ(view.token[1], 12);
  EXPECT_EQ(view.pos[0], 7);
  EXPECT_EQ(view.n_seq_id[1], 1);
  EXPECT_EQ(view.seq_id[1][0], 2);
  EXPECT_EQ(view.logits[0], 0);
  EXPECT_EQ(view.logits[1], 1);
}

TEST(Batch, HasRoomAgainWhenCleared) {
  Batch batch{1};
  batch.add({0}, 0, {1}, true);
  batch.clear();
  EXPECT_EQ(batch.size(), 0U);
  batch.add({3}, 5, {4}, false);
  EXPECT_EQ(batch.view().seq_id[0][0], 3);
}

TEST(BatchDeathTest, HasNoRoomForMoreThanItWasMadeFor) {
  Batch batch{1};
  batch.add({0}, 0, {1}, true);
  EXPECT_DEATH(batch.add({0}, 1, {1}, true), "no room");
}

}  // namespace
}  // namespace seedance::llama
