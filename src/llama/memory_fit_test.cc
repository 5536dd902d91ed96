#include "llama/memory_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llama/model_file.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

MemoryFit fit(WorkerOptions options, std::uint64_t available = 64 * kGib) {
  LogCapture log;
  options.model_path = test_model_path();
  auto fit = fit_memory(options, log, available);
  EXPECT_TRUE(fit) << fit.error().detail;
  return fit.value_or(MemoryFit{});
}

TEST(MemoryFit, CountsWhatIsAskedFor) {
  const MemoryFit four = fit({.context_tokens = 512, .sequences_max = 4});
  const MemoryFit eight = fit({.context_tokens = 512, .sequences_max = 8});
  ASSERT_EQ(four.devices.size(), 1U);
  EXPECT_EQ(four.tokens, 4U * 512);
  EXPECT_EQ(eight.devices[0].streams, 2 * four.devices[0].streams);
  EXPECT_EQ(eight.devices[0].weights, four.devices[0].weights);
  EXPECT_GT(four.devices[0].weights, 0U);
  EXPECT_GT(four.devices[0].compute, 0U);
  const MemoryFit less = fit({.context_tokens = 512, .sequences_max = 4, .kv_type = "q8_0"});
  EXPECT_LT(less.bytes_per_token(), four.bytes_per_token());
}

// The weights are in the file, and little else.
TEST(MemoryFit, WeightsAreAsLargeAsTheFile) {
  const auto file = inspect_model_file(test_model_path());
  ASSERT_TRUE(file);
  const MemoryFit one = fit({});
  EXPECT_LE(one.devices[0].weights, file->bytes);
  EXPECT_GT(one.devices[0].weights, file->bytes / 2);
}

TEST(MemoryFit, CountsAdapters) {
  const MemoryFit none = fit({});
  const MemoryFit two = fit({.adapters = {test_adapter_path(1), test_adapter_path(2)}});
  const std::uint64_t bytes =
      inspect_adapter_file(test_adapter_path(1), test_model_path()).value_or(0);
  EXPECT_NEAR(static_cast<double>(two.devices[0].weights - none.devices[0].weights),
              static_cast<double>(2 * bytes), 2);
  LogCapture log;
  const auto broken =
      fit_memory({.model_path = test_model_path(), .adapters = {test_model_path()}}, log, kGib);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().detail, HasSubstr("holds no adapter"));
}

// As much again, where it is as large.
TEST(MemoryFit, CountsADraftModel) {
  const WorkerOptions options{.context_tokens = 512, .sequences_max = 4};
  WorkerOptions with = options;
  with.draft_model = test_draft_path();
  const DeviceFit none = fit(options).devices.at(0);
  const DeviceFit both = fit(with).devices.at(0);
  EXPECT_EQ(both.weights, 2 * none.weights);
  EXPECT_EQ(both.streams, 2 * none.streams);
  EXPECT_GT(both.compute, none.compute);
  EXPECT_EQ(fit(with).bytes_per_token(), 2 * fit(options).bytes_per_token());
  LogCapture log;
  const auto broken =
      fit_memory({.model_path = test_model_path(), .draft_model = "/no/such.gguf"}, log, kGib);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().detail, HasSubstr("/no/such.gguf"));
}

TEST(MemoryFit, SaysWhetherItFitsAndHowManyWould) {
  const MemoryFit roomy = fit({.context_tokens = 512, .sequences_max = 4});
  EXPECT_TRUE(roomy.fits());
  EXPECT_EQ(roomy.streams_max(512), kSequencesMax);
  const DeviceFit& device = roomy.devices[0];
  const MemoryFit exact = fit({.context_tokens = 512, .sequences_max = 4}, device.together());
  EXPECT_TRUE(exact.fits());
  EXPECT_EQ(exact.streams_max(512), 4U);
  EXPECT_EQ(exact.streams_max(1024), 2U);
  const MemoryFit tight = fit({.context_tokens = 512, .sequences_max = 4}, device.together() - 1);
  EXPECT_FALSE(tight.fits());
  EXPECT_EQ(tight.streams_max(512), 3U);
  EXPECT_EQ(fit({}, device.weights).streams_max(512), 0U);
}

TEST(MemoryFit, SaysWhatIsWrong) {
  LogCapture log;
  const auto none = fit_memory({.model_path = "/no/such.gguf"}, log, kGib);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().detail, HasSubstr("/no/such.gguf"));
  const auto type = fit_memory({.model_path = test_model_path(), .kv_type = "f15"}, log, kGib);
  ASSERT_FALSE(type);
  EXPECT_THAT(type.error().detail, HasSubstr("f15"));
}

}  // namespace
}  // namespace seedance::llama
