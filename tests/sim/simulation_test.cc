// The promises of the server, in simulated worlds where things go wrong.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <string>

namespace seedance::sim {
namespace {

const scripted::Vocabulary& vocabulary() {
  static const scripted::Vocabulary kVocabulary{1024};
  return kVocabulary;
}

std::string replay_line(const Scenario& scenario, std::uint64_t seed) {
  return "seedance-sim --scenario " + std::string{scenario.name} + " --seed " +
         std::to_string(seed) + " --trace";
}

class EveryScenario : public testing::TestWithParam<const Scenario*> {};

// A few seeds of each; tools/test.sh runs thousands.
TEST_P(EveryScenario, KeepsEveryPromise) {
  constexpr std::uint64_t kSeeds = 20;
  Outcome::Counts sum;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome = run(vocabulary(), {.scenario = GetParam(), .seed = seed});
    ASSERT_EQ(outcome.violation, std::nullopt) << replay_line(*GetParam(), seed);
    sum.streams += outcome.counts.streams;
    sum.tokens += outcome.counts.tokens;
    sum.resumes += outcome.counts.resumes;
    sum.faults += outcome.counts.faults;
  }
  EXPECT_GT(sum.streams, kSeeds);
  EXPECT_GT(sum.tokens, 20 * kSeeds);
  EXPECT_GT(sum.resumes, kSeeds / 2);
  EXPECT_GT(sum.faults, kSeeds);
}

TEST_P(EveryScenario, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed = 100; seed < 103; ++seed) {
    const Outcome one = run(vocabulary(), {.scenario = GetParam(), .seed = seed});
    const Outcome two = run(vocabulary(), {.scenario = GetParam(), .seed = seed});
    const Outcome told =
        run(vocabulary(), {.scenario = GetParam(), .seed = seed, .diary = Diary::written});
    EXPECT_EQ(one.hash, two.hash);
    EXPECT_EQ(one.steps, two.steps);
    EXPECT_EQ(one.hash, told.hash) << "writing it down changes nothing";
    EXPECT_FALSE(told.diary.empty());
    const Outcome other = run(vocabulary(), {.scenario = GetParam(), .seed = seed + 1000});
    EXPECT_NE(one.hash, other.hash);
  }
}

std::vector<const Scenario*> all_scenarios() {
  std::vector<const Scenario*> all;
  for (const Scenario& scenario : scenarios()) all.push_back(&scenario);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Simulation, EveryScenario, testing::ValuesIn(all_scenarios()),
                         [](const auto& one) { return std::string{one.param->name}; });

// Runs that found something, and what. They go the same way only until the simulator
// changes: each of these bugs has a unit test, too.
struct Pinned {
  std::string_view scenario;
  std::uint64_t seed = 0;
  std::string_view found;
};

constexpr Pinned kPinned[] = {
    {"calm", 8, "more ended streams were kept than the limit says"},
    {"calm", 12, "a stream was listed before it was committed"},
    {"calm", 231, "the engine was given a job that was cancelled before it left"},
    {"links", 15, "a reader that came back was not woken"},
    {"links", 140, "a listener that came back was not woken"},
    {"power", 6, "an epoch that the power took was given to another log"},
    {"power", 27, "a client that held lost tokens was refused in its own epoch"},
    {"everything", 980, "an end was shown in an epoch that had lost it"},
};

TEST(Simulation, PinnedSeedsKeepEveryPromise) {
  for (const Pinned& pinned : kPinned) {
    const Scenario* scenario = find_scenario(pinned.scenario);
    ASSERT_NE(scenario, nullptr);
    const Outcome outcome = run(vocabulary(), {.scenario = scenario, .seed = pinned.seed});
    EXPECT_EQ(outcome.violation, std::nullopt)
        << pinned.found << ": " << replay_line(*scenario, pinned.seed);
  }
}

// A bug that is planted, and the scenario that has to find it.
struct Planted {
  std::string_view canary;
  std::string_view scenario;
};

class EveryCanary : public testing::TestWithParam<Planted> {};

TEST_P(EveryCanary, IsFound) {
  constexpr std::uint64_t kSeeds = 200;
  const Scenario* scenario = find_scenario(GetParam().scenario);
  const auto canary = parse_canary(GetParam().canary);
  ASSERT_TRUE(scenario != nullptr && canary);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome outcome =
        run(vocabulary(), {.scenario = scenario, .seed = seed, .canary = *canary});
    if (!outcome.violation) continue;
    const Outcome again =
        run(vocabulary(), {.scenario = scenario, .seed = seed, .canary = *canary});
    EXPECT_EQ(again.violation, outcome.violation) << "it is found again";
    EXPECT_EQ(again.hash, outcome.hash);
    return;
  }
  ADD_FAILURE() << kSeeds << " seeds did not find it";
}

INSTANTIATE_TEST_SUITE_P(
    Simulation, EveryCanary,
    testing::Values(Planted{"shown_early", "servers"}, Planted{"resume_behind", "links"},
                    Planted{"detach_cancels", "links"}, Planted{"any_tenant", "hostile"},
                    Planted{"keys_dropped", "links"}, Planted{"end_untold", "links"},
                    Planted{"wakes_dropped", "calm"}),
    [](const auto& one) { return std::string{one.param.canary}; });

}  // namespace
}  // namespace seedance::sim
