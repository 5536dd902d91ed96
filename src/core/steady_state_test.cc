// What a step of many streams costs the core once they run.
#include <gtest/gtest.h>

#include <vector>

#include "base/test_allocations.h"
#include "core/harness.h"

namespace seedance::core {
namespace {

constexpr std::uint32_t kStreams = 500;
// Whatever the number of streams: the batch, the lists of a round.
constexpr std::uint64_t kAllocationsMax = 50;

std::uint64_t allocations_of_a_step(Harness& h) {
  h.start(kStreams, 2000);
  for (std::uint32_t i = 0; i < kStreams; ++i) h.run();
  std::vector<engine::StepToken> step;
  for (const engine::Job& job : h.jobs) {
    step.push_back({.job = job.id, .gen = job.gen, .token = letter('a')});
  }
  EXPECT_EQ(step.size(), kStreams);
  for (int warm = 0; warm < 10; ++warm) h.step(step);
  const std::uint64_t before = allocations;
  h.step(step);
  return allocations - before;
}

TEST(SteadyState, AStepAllocatesNothingForEachStream) {
  if (!kAllocationsCounted) GTEST_SKIP();
  Harness h;
  EXPECT_LT(allocations_of_a_step(h), kAllocationsMax);
  EXPECT_EQ(h.text(kStreams - 1), "aaaaaaaaaaa");
}

TEST(SteadyState, NorDoesAJournalledOne) {
  if (!kAllocationsCounted) GTEST_SKIP();
  Harness h{Disk{}};
  EXPECT_LT(allocations_of_a_step(h), kAllocationsMax);
  EXPECT_EQ(h.text(kStreams - 1), "aaaaaaaaaaa");
}

}  // namespace
}  // namespace seedance::core
