#include "llama/context_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::llama {
namespace {

using testing::HasSubstr;

TEST(ContextPlan, TakesWhatTheModelWasMadeForUpTo4096) {
  const auto small = plan_context({}, 1024);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->context_tokens, 1024U);
  EXPECT_EQ(small->sequences, 64U);
  EXPECT_EQ(small->parameters.n_ctx, 64U * 1024);
  EXPECT_FALSE(small->parameters.kv_unified);
  EXPECT_EQ(plan_context({}, 131'072)->context_tokens, 4096U);
  EXPECT_EQ(plan_context({.context_tokens = 8192}, 131'072)->context_tokens, 8192U);
}

TEST(ContextPlan, TakesAsManySequencesAsThereIsRoomForUnlessTold) {
  const auto planned = [](const WorkerOptions& options, std::uint64_t room) {
    const auto plan = plan_context(options, 4096, room);
    return plan ? std::pair{plan->sequences, plan->context_tokens} : std::pair{0U, 0U};
  };
  EXPECT_EQ(planned({.sequences_max = 0}, 1'000'000), std::pair(64U, 4096U));
  EXPECT_EQ(planned({.sequences_max = 0}, 30'000), std::pair(7U, 4096U));
  EXPECT_EQ(planned({.context_tokens = 1000, .sequences_max = 0}, 30'000), std::pair(30U, 1000U));
  EXPECT_EQ(planned({.sequences_max = 0}, 3000), std::pair(1U, 3000U));
  EXPECT_EQ(planned({.sequences_max = 0}, 100), std::pair(1U, 512U));
  EXPECT_EQ(planned({.context_tokens = 4000, .sequences_max = 0}, 3000), std::pair(1U, 4000U));
  EXPECT_EQ(planned({.sequences_max = 64}, 3000), std::pair(64U, 4096U));
  EXPECT_EQ(planned({.sequences_max = 0, .shared_tokens = 100}, 3000), std::pair(50U, 100U));
}

TEST(ContextPlan, SharesItsRoomWhereAsked) {
  const auto plan = plan_context({.context_tokens = 4096, .shared_tokens = 1000}, 4096);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->context_tokens, 1000U);
  EXPECT_EQ(plan->parameters.n_ctx, 1000U);
  EXPECT_TRUE(plan->parameters.kv_unified);
}

TEST(ContextPlan, RefusesWhatCannotBe) {
  const auto mistake = [](const WorkerOptions& options) {
    const auto plan = plan_context(options, 4096);
    return plan ? std::string{} : plan.error().detail;
  };
  EXPECT_THAT(mistake({.sequences_max = 257}), HasSubstr("257 sequences"));
  EXPECT_THAT(mistake({.context_tokens = 16'777'216, .sequences_max = 256}),
              HasSubstr("more than llama.cpp can keep"));
  EXPECT_THAT(mistake({.sequences_max = 64, .shared_tokens = 127}),
              HasSubstr("room for 127 tokens is too little for 64 streams"));
  EXPECT_EQ(mistake({.sequences_max = 64, .shared_tokens = 128}), "");
  EXPECT_THAT(mistake({.context_tokens = 1}), HasSubstr("a context of 1 tokens is too small"));
  EXPECT_THAT(mistake({.kv_type = "f15"}), HasSubstr("kv_type"));
}

TEST(AskedInVain, IsSaidWithTheNumbers) {
  using testing::ElementsAre;
  constexpr Machine kBare;
  constexpr Machine kGpu{.gpu = true};
  EXPECT_THAT(asked_in_vain({}, 2048, 2048, kBare), testing::IsEmpty());
  EXPECT_THAT(asked_in_vain({.context_tokens = 2048, .gpu_layers = -1}, 2048, 2048, kGpu),
              testing::IsEmpty());
  EXPECT_THAT(asked_in_vain({.gpu_layers = 20}, 2048, 2048, kBare),
              ElementsAre(testing::StartsWith("gpu_layers: 20 cannot be")));
  EXPECT_THAT(
      asked_in_vain({.context_tokens = 4096, .shared_tokens = 1000}, 8192, 1000, kBare),
      ElementsAre("ctx_size: 4096 tokens of a stream cannot be: kv_tokens has room for 1000 "
                  "of all streams, and so each has 1000 at most"));
  EXPECT_THAT(asked_in_vain({.context_tokens = 4096}, 2048, 4096, kBare),
              ElementsAre("ctx_size: of 4096 tokens the model was trained for 2048: what it says "
                          "behind those may make no sense"));
  EXPECT_THAT(asked_in_vain({.context_tokens = 9000, .shared_tokens = 4096}, 2048, 4096, kBare),
              testing::SizeIs(2));
}

}  // namespace
}  // namespace seedance::llama
