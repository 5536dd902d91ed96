#include <gtest/gtest.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using testing::HasSubstr;

constexpr engine::Memory kMemory{.cells_active = 20,
                                 .cells_pinned = 10,
                                 .cells_cached = 40,
                                 .cells_free = 30,
                                 .tokens_asked = 9,
                                 .tokens_reused = 6,
                                 .evictions = 2};

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
  EXPECT_THAT(text, HasSubstr("seedance_kv_evictions_total 2\n"));  // It was all the same.
}

TEST(EngineMemory, IsThatOfAllModelsTogether) {
  Harness h{{}, Writing::at_once, {}, {}, {{.name = "letters"}, {.name = "others"}}};
  h.pass(EngineEvent{kModel, kMemory});
  h.pass(EngineEvent{ModelIndex{1}, kMemory});
  EXPECT_THAT(metrics(h), HasSubstr("seedance_kv_cells{state=\"free\"} 60\n"));
}

}  // namespace
}  // namespace seedance::core
