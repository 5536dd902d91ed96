#include "apps/fallbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::apps {
namespace {

using server::LlamaFallback;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<LlamaFallback> automatic(const server::LlamaModel& model) {
  return parse_fallbacks({"auto"}, model).value();
}

TEST(Fallbacks, AreReadAsTheyAreWritten) {
  const auto read = parse_fallbacks({"batch_tokens=512", "gpu_layers=-1",
                                     "gpu_layers=0  batch_tokens=256 max_concurrent_streams=8"},
                                    {});
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_THAT(
      *read,
      ElementsAre(LlamaFallback{.batch_tokens_max = 512}, LlamaFallback{.gpu_layers = -1},
                  LlamaFallback{.gpu_layers = 0, .batch_tokens_max = 256, .sequences_max = 8}));
  EXPECT_THAT(parse_fallbacks({}, {}).value(), IsEmpty());
  EXPECT_THAT(parse_fallbacks({"none"}, {}).value(), IsEmpty());
}

TEST(Fallbacks, ThatCannotBeAreRefused) {
  for (const char* wrong :
       {"fewer", "batch_tokens", "batch_tokens=", "batch_tokens=x", "=3",
        "max_concurrent_streams=0", "max_concurrent_streams=257", "gpu_layers=-2", "threads=1",
        "ctx_size=4", "gpu_layers=1 gpu_layers=2", "auto", "none"}) {
    const auto read = parse_fallbacks({"gpu_layers=0", wrong}, {});
    ASSERT_FALSE(read) << wrong;
    EXPECT_THAT(read.error().detail, HasSubstr("fallbacks: \""));
  }
  const auto many = parse_fallbacks(std::vector<std::string>(17, "gpu_layers=0"), {});
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().detail, HasSubstr("17 are more than 16"));
}

TEST(Fallbacks, OfThemselvesTakeLessAndLeaveTheGpuLast) {
  const LlamaFallback smaller{.batch_tokens_max = 256, .sequences_max = 32};
  LlamaFallback half = smaller;
  half.gpu_layers = 20;
  LlamaFallback none = smaller;
  none.gpu_layers = 0;
  EXPECT_THAT(automatic({.sequences_max = 64}), ElementsAre(smaller));
  EXPECT_THAT(automatic({}), ElementsAre(LlamaFallback{.batch_tokens_max = 256}));
  EXPECT_THAT(automatic({.sequences_max = 64, .gpu_layers = 40}), ElementsAre(smaller, half, none));
  EXPECT_THAT(automatic({.sequences_max = 64, .gpu_layers = -1}), ElementsAre(smaller, none));
  EXPECT_THAT(automatic({.sequences_max = 64, .gpu_layers = 1}), ElementsAre(smaller, none));
  EXPECT_THAT(automatic({.sequences_max = 1, .batch_tokens_max = 128}),
              ElementsAre(LlamaFallback{.batch_tokens_max = 128, .sequences_max = 1}));
}

}  // namespace
}  // namespace seedance::apps
