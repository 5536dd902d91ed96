#include <gtest/gtest.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using testing::HasSubstr;

constexpr engine::Memory kMemory{.cells_active = 20,
                                 .cells_pinned = 10,
                                 .cells_cached = 40,
                                 .cells_free = 30,
                                 .saved_bytes = 50,
                                 .tokens_asked = 9,
                                 .tokens_reused = 6,
                                 .evictions = 2,
                                 .resident_bytes = 700,
                                 .own_bytes = 70};

std::string metrics(const Harness& h) {
  std::string out;
  append_text(out, h.core.stats());
  return out;
}

TEST(EngineMemory, IsInTheMetricsAsTheEngineToldItLast) {
  Harness h;
  h.start();
  h.pass(EngineEvent{kModel, kMemory});
  h.pass(EngineEvent{kModel, kMemory});
  const std::string text = metrics(h);
  EXPECT_THAT(text, HasSubstr("seedance_kv_cells{state=\"active\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_cells{state=\"cached\"} 40\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_cells{state=\"pinned\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_cells{state=\"free\"} 30\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_utilisation 0.2\n"));
  EXPECT_THAT(text, HasSubstr("seedance_park_memory_bytes 50\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_prefix_tokens_total 18\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_prefix_reused_total 12\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_evictions_total 4\n"));
}

TEST(EngineMemory, IsGoneWithTheEngine) {
  Harness h;
  h.start();
  h.pass(EngineEvent{kModel, kMemory});
  h.pass(EngineDown{.model = kModel});
  const std::string text = metrics(h);
  EXPECT_THAT(text, HasSubstr("seedance_kv_cells{state=\"cached\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_utilisation 0\n"));
  EXPECT_THAT(text, HasSubstr("seedance_park_memory_bytes 0\n"));
  EXPECT_THAT(text, HasSubstr("seedance_kv_evictions_total 2\n"));  // It was all the same.
}

TEST(EngineMemory, IsBesideWhatWasPredicted) {
  Harness h;
  h.pass(EngineEvent{
      kModel, engine::Ready{.context_tokens = kContext,
                            .sequences_max = 2,
                            .memory = {{.device = "CUDA0",
                                        .predicted = {.weights = 1, .kv = 2, .compute = 3},
                                        .taken = {.weights = 4, .kv = 5, .compute = 6}},
                                       {.device = "memory",
                                        .predicted = {.weights = 7, .kv = 8, .compute = 9},
                                        .taken = {.weights = 10, .kv = 11, .compute = 12}}}}});
  h.pass(EngineEvent{kModel, kMemory});
  const std::string name = "seedance_engine_memory_bytes";
  const std::string text = metrics(h);
  EXPECT_THAT(text, HasSubstr(name + "{where=\"machine\",for=\"compute\"} 12\n"));
  EXPECT_THAT(text, HasSubstr(name + "{where=\"devices\",for=\"kv\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("predicted_bytes{where=\"machine\",for=\"weights\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("seedance_engine_resident_bytes 700\n"));
  EXPECT_THAT(text, HasSubstr("seedance_engine_own_bytes 70\n"));
  h.pass(EngineDown{.model = kModel});
  EXPECT_THAT(metrics(h), HasSubstr(name + "{where=\"devices\",for=\"kv\"} 0\n"));
}

TEST(EngineMemory, IsThatOfAllModelsTogether) {
  Harness h{{}, Writing::at_once, {}, {}, {{.name = "letters"}, {.name = "others"}}};
  h.pass(EngineEvent{kModel, kMemory});
  h.pass(EngineEvent{ModelIndex{1}, kMemory});
  EXPECT_THAT(metrics(h), HasSubstr("seedance_kv_cells{state=\"free\"} 60\n"));
}

}  // namespace
}  // namespace seedance::core
