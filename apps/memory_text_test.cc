#include "apps/memory_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::apps {
namespace {

constexpr std::uint64_t kMib = 1U << 20U;

TEST(MemoryText, SaysWhatEachDeviceGivesAndHowFarThatIsFromThePrediction) {
  const std::vector<engine::DeviceReport> reports{
      {.device = "CUDA0",
       .predicted = {.weights = 40 * kMib, .kv = 20 * kMib, .compute = 10 * kMib},
       .taken = {.weights = 40 * kMib, .kv = 20 * kMib, .compute = 9 * kMib}},
      {.device = "memory",
       .predicted = {.weights = 3 * kMib, .kv = 0, .compute = kMib},
       .taken = {.weights = 5 * kMib, .kv = 0, .compute = kMib}}};
  EXPECT_EQ(memory_text(reports),
            "CUDA0 takes 69.0 MiB (weights 40.0, tokens 20.0, a step 9.0), -1.0 beside the "
            "prediction (40.0, 20.0, 10.0); "
            "memory takes 6.0 MiB (weights 5.0, tokens 0.0, a step 1.0), +2.0 beside the "
            "prediction (3.0, 0.0, 1.0)");
  EXPECT_EQ(memory_text({}), "");  // An engine without a model.
}

}  // namespace
}  // namespace seedance::apps
