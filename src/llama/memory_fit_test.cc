#include "llama/memory_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llama/model_file.h"
#include "llama/test_file.h"
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
  EXPECT_EQ(eight.devices[0].records, 2 * four.devices[0].records);
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
  EXPECT_EQ(two.devices[0].weights, none.devices[0].weights);
  EXPECT_NEAR(static_cast<double>(two.devices[0].adapters), static_cast<double>(2 * bytes), 2);
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

// As the server does, before it loads anything.
TEST(MemoryFit, RefusesADraftThatCannotGuess) {
  LogCapture log;
  const auto refusal = [&](const std::string& model, const std::string& draft) {
    const auto fit = fit_memory({.model_path = model, .draft_model = draft}, log, 64 * kGib);
    return fit ? "" : fit.error().detail;
  };
  EXPECT_THAT(refusal(recurrent_model_path(), test_draft_path()),
              HasSubstr("no guess can be cut off again: leave draft_model out"));
  EXPECT_THAT(refusal(test_model_path(), recurrent_model_path()), HasSubstr("draft_model: '"));
  std::string content = content_of(test_draft_path());
  content.replace(content.find("<0x41>"), 6, "<0x4a>");
  const TestFile changed{"changed.gguf", content};
  EXPECT_THAT(refusal(test_model_path(), changed.path()), HasSubstr("has '<0x4a>' as token 68"));
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

// Weights are read from the file again: a model that they keep from fitting is slow, and runs.
TEST(MemoryFit, IsShortOfWhatCannotBeDropped) {
  const DeviceFit device = fit({.context_tokens = 512, .sequences_max = 4}).devices[0];
  EXPECT_EQ(device.mapped, device.weights);
  const std::uint64_t least = device.together() - device.weights;
  const MemoryFit enough = fit({.context_tokens = 512, .sequences_max = 4}, least);
  EXPECT_EQ(enough.short_of(), nullptr);
  EXPECT_FALSE(enough.fits());
  const MemoryFit little = fit({.context_tokens = 512, .sequences_max = 4}, least - 1);
  EXPECT_EQ(little.short_of(), little.devices.data());
}

// On made-up devices: each has to have room for its part.
TEST(MemoryFit, LooksAtEachDevice) {
  MemoryFit fit{.devices = {}, .tokens = 1000};
  fit.devices.push_back({{.name = "GPU", .weights = 500, .streams = 4000, .compute = 100}});
  fit.devices.push_back({{.name = "memory", .weights = 300, .mapped = 300, .streams = 1000}});
  fit.devices[0].available = 4600;
  fit.devices[1].available = 1300;
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.room(1), 1000U);
  EXPECT_EQ(fit.streams_max(250), 4U);
  fit.devices[0].available = 2600;
  EXPECT_FALSE(fit.fits());
  EXPECT_EQ(fit.short_of(), fit.devices.data());
  EXPECT_EQ(fit.room(1), 500U);
  EXPECT_EQ(fit.room(0.5), 175U);
  fit.devices[1].available = 400;  // The machine has less than the GPU now.
  EXPECT_EQ(fit.room(1), 100U);
  fit.devices[0].available = 599;
  EXPECT_EQ(fit.room(1), 0U);
}

TEST(MemoryFit, TakesAsManyStreamsAsFitWhereTheirNumberIsOpen) {
  const WorkerOptions open{.context_tokens = 512};
  const MemoryFit all = fit(open);
  EXPECT_EQ(all.streams, 64U);
  const MemoryFit half = fit(open, all.devices[0].together() / 2);
  EXPECT_TRUE(half.fits());
  EXPECT_GT(half.streams, 8U);
  EXPECT_LT(half.streams, 32U);
  EXPECT_EQ(fit(open, all.devices[0].weights).streams, 1U);  // Nothing fits: one is tried.
}

// What llama.cpp would take long to lay out is in proportion to what it does lay out.
TEST(MemoryFit, ReckonsLargeRoomFromLess) {
  const auto lay_out = [](std::uint32_t tokens) {
    return fit({.sequences_max = 4, .shared_tokens = tokens}, 1024 * kGib);
  };
  const MemoryFit exact = lay_out(1U << 20U);
  const MemoryFit reckoned = lay_out(1U << 21U);
  EXPECT_EQ(reckoned.devices[0].streams, 2 * exact.devices[0].streams);
  const MemoryFit twice = lay_out(1U << 22U);
  const auto grown = [](const MemoryFit& more, const MemoryFit& less) {
    return more.devices[0].compute - less.devices[0].compute;
  };
  EXPECT_EQ(grown(twice, reckoned), 2 * grown(reckoned, exact));
  EXPECT_GT(grown(reckoned, exact), 0U);
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
