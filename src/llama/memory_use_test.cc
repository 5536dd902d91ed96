#include "llama/memory_use.h"

#include <gtest/gtest.h>
#include <llama-ext.h>

#include "llama/test_model.h"

namespace seedance::llama {
namespace {

std::unique_ptr<Model> load(LogCapture& log, WorkerOptions options = {}) {
  options.model_path = test_model_path();
  options.context_tokens = 512;
  options.sequences_max = 4;
  options.threads = 1;
  auto model = Model::load(options, log, [](float) {});
  EXPECT_TRUE(model) << model.error().detail;
  return model ? *std::move(model) : nullptr;
}

// What was predicted is what there is, but for the rest of pages.
TEST(MemoryUse, IsAsPredicted) {
  LogCapture log;
  const auto model = load(log);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->taken().size(), 1U);
  const DeviceUse& taken = model->taken()[0];
  const DeviceFit& predicted = model->predicted().devices[0];
  EXPECT_EQ(taken.streams, predicted.streams);
  EXPECT_EQ(taken.compute, predicted.compute);
  EXPECT_NEAR(static_cast<double>(taken.weights), static_cast<double>(predicted.weights), 4096);
  EXPECT_EQ(taken.mapped, taken.weights);
  EXPECT_GT(taken.streams, 0U);
}

// llama.cpp counts all but the logits: a row for each sequence and each guess, and for each
// sequence once more in the draft model. The prediction is of as many.
TEST(MemoryUse, CountsRowsOfLogitsOfBoth) {
  LogCapture log;
  const auto model = load(log, {.draft_tokens_max = 11, .draft_model = test_draft_path()});
  ASSERT_TRUE(model);
  std::uint64_t told = 0;
  for (const Model* each : {model.get(), model->draft()}) {
    for (const auto& [type, bytes] : llama_get_memory_breakdown(each->context())) {
      told += bytes.compute;
    }
  }
  const std::uint64_t rows = (4 + 11) + 4;
  EXPECT_EQ(model->taken().back().compute, told + (rows * model->vocabulary_size() * 4));
  EXPECT_EQ(model->predicted().devices.back().compute, model->taken().back().compute);
}

// Whatever is mapped, none of it is the process's own.
TEST(MemoryUse, WeightsAndTokensAreNotTheWorkersOwn) {
  LogCapture log;
  const auto model = load(log);
  ASSERT_TRUE(model);
  const DeviceUse& taken = model->taken()[0];
  constexpr std::uint64_t kOwn = std::uint64_t{50} << 20U;
  EXPECT_EQ(
      model->own_bytes({.all = kOwn + taken.weights + taken.streams, .of_files = taken.weights}),
      kOwn);
  EXPECT_EQ(model->own_bytes({.all = kOwn + taken.streams, .of_files = 0}), kOwn);
  EXPECT_EQ(model->own_bytes({.all = kOwn + taken.streams + 700, .of_files = 0}, 700), kOwn);
  EXPECT_EQ(model->own_bytes({}), 0U);
  const ResidentMemory resident = resident_memory();
  EXPECT_GT(resident.all, taken.streams);
  EXPECT_GT(resident.of_files, 0U);
  EXPECT_LT(resident.of_files, resident.all);
}

}  // namespace
}  // namespace seedance::llama
