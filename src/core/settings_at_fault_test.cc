// Engines that die of their settings.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using ::testing::SizeIs;

constexpr std::uint32_t kSequences = 3;

void replace_engine(Harness& h, const EngineDown& down) {
  h.pass(down);
  h.start(kSequences);
}

// Of three streams, one is accused and two are suspects when the settings turn out to be at fault.
TEST(SettingsAtFault, AcquitEverybody) {
  Harness h;
  h.start(kSequences);
  for (std::uint32_t i = 0; i < kSequences; ++i) h.run();
  for (int i = 0; i < 3; ++i) replace_engine(h, {kModel});
  h.jobs.clear();
  for (std::size_t i = 1; i <= 5; ++i) {
    replace_engine(h, {.model = kModel, .other_settings = true});
    EXPECT_THAT(h.jobs, SizeIs(kSequences * i));  // All of them together.
  }
  for (std::uint32_t i = 1; i < kDeathsMax; ++i) replace_engine(h, {kModel});
  for (std::uint32_t i = 0; i < kSequences; ++i) EXPECT_FALSE(h.accepted(i).log->head().done);
  replace_engine(h, {kModel});  // Charged from nothing on, it takes as many as at first.
  EXPECT_EQ(h.terminal(0).problem->code, ErrorCode::engine_failed);
  EXPECT_EQ(h.terminal(0).problem->numbers.at(0).value, kDeathsMax);
}

TEST(SettingsAtFault, AreCountedByCauseAndShown) {
  Harness h;
  h.start(kSequences);
  replace_engine(h, {kModel, engine::EndCause::out_of_memory, true, 2});
  replace_engine(h, {kModel, engine::EndCause::killed, false, 2});
  std::string metrics;
  append_text(metrics, h.core.stats());
  for (const char* line :
       {"seedance_engine_ends_total{cause=\"out_of_memory\"} 1\n",
        "seedance_engine_ends_total{cause=\"killed\"} 1\n",
        "seedance_engine_ends_total{cause=\"hung\"} 0\n", "seedance_engine_fallback 2\n"}) {
    EXPECT_THAT(metrics, testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace seedance::core
