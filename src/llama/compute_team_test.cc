#include "llama/compute_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace seedance::llama {
namespace {

TEST(ComputeTeam, DoesEachPartOnce) {
  for (const int threads : {1, 2, 5}) {
    ComputeTeam team{threads};
    for (const std::size_t count : {0U, 1U, 2U, 64U, 1000U}) {
      std::vector<int> done(count);
      team.run(count, [&](std::size_t at) { ++done[at]; });
      EXPECT_EQ(done, std::vector(count, 1)) << threads << " threads, " << count << " parts";
    }
  }
}

TEST(ComputeTeam, ThrowsAgainWhatAPartThrewWhenAllAreDone) {
  for (const int threads : {1, 2, 5}) {
    ComputeTeam team{threads};
    std::vector<int> done(64);
    const auto work = [&](std::size_t at) {
      ++done[at];
      if (at % 3 == 1) throw std::runtime_error{"no memory"};
    };
    EXPECT_THROW(team.run(done.size(), work), std::runtime_error) << threads << " threads";
    EXPECT_EQ(done, std::vector(64, 1));
    EXPECT_NO_THROW(team.run(1, [](std::size_t) {})) << "it is told once";
  }
}

// Each waits for the other.
TEST(ComputeTeam, DoesPartsAtTheSameTime) {
  ComputeTeam team{2};
  std::atomic<int> there = 0;
  std::vector<std::thread::id> by(2);
  team.run(2, [&](std::size_t at) {
    by[at] = std::this_thread::get_id();
    ++there;
    while (there < 2) std::this_thread::yield();
  });
  EXPECT_NE(by[0], by[1]);
}

}  // namespace
}  // namespace seedance::llama
