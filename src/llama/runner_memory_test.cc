// Many jobs in one memory: they move, wait, share and give way, and each is computed as if alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "llama/test_runner.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;
using testing::HasSubstr;
using Outcome = RunnerOutcome;

std::vector<std::string> two_adapters() {
  return {test_adapter_path(1), test_adapter_path(2)};
}

// Jobs of which many begin alike come and go at random, so that gaps open and close, and
// memory moves: no sequence is ever computed with a token of another.
struct Load {
  std::uint32_t shared_tokens = 0;
  std::vector<std::string> adapters = {};
};
class RunnerLoadTest : public RunnerTest, public testing::WithParamInterface<Load> {};

TEST_P(RunnerLoadTest, KeepsSequencesApart) {
  load({.sequences_max = 12,
        .batch_tokens_max = 64,
        .shared_tokens = GetParam().shared_tokens,
        .adapters = GetParam().adapters});
  LoneModel lone{test_model_path(), GetParam().adapters};
  Prng random{7};
  std::map<std::uint64_t, Job> jobs;
  for (std::uint64_t id = 0; id < 90; ++id) {
    auto prompt = random_prompt(100 + random.below(4), random.below(60));
    const auto own = random_prompt(id, 1 + random.below(20));
    prompt.insert(prompt.end(), own.begin(), own.end());
    jobs[id] = greedy_job(id, prompt, static_cast<std::uint32_t>(1 + random.below(30)));
    jobs[id].priority = kPriorities.at(random.below(kPriorityCount));
    if (!GetParam().adapters.empty()) jobs[id].adapter = static_cast<std::uint32_t>(id % 3);
    start(jobs[id]);
    for (std::uint64_t steps = random.below(3); steps > 0; --steps) step();
    if (random.below(6) == 0) cancel(random.below(id + 1));
  }
  run();
  std::size_t ended = 0;
  std::uint32_t reused = 0;
  for (const auto& [id, job] : jobs) {
    EXPECT_LT(lone.regret(job.prompt, outcome(id).tokens, job.adapter), kEpsilon) << id;
    ended += outcome(id).end == JobEnd::length ? 1 : 0;
    reused += outcome(id).reused;
  }
  EXPECT_GT(ended, 60);
  EXPECT_GT(reused, 0);
  EXPECT_GT(parked_, 0);
}

INSTANTIATE_TEST_SUITE_P(OwnAndShared, RunnerLoadTest,
                         testing::Values(Load{}, Load{640}, Load{0, two_adapters()},
                                         Load{640, two_adapters()}));

// Its client sees a pause: no token is lost, made twice or made anew.
TEST_F(RunnerTest, AParkedJobGoesOnBehindItsTokens) {
  load({.sequences_max = 2});
  for (const std::uint64_t id : {1U, 2U}) {
    Job job = greedy_job(id, random_prompt(id, 9), 30);
    job.priority = Priority::batch;
    start(job);
  }
  for (int i = 0; i < 10; ++i) step();
  Job urgent = greedy_job(3, random_prompt(3, 9), 5);
  urgent.priority = Priority::realtime;
  start(urgent);
  step();
  step();
  EXPECT_GE(outcome(3).tokens.size(), 1);
  EXPECT_LE(outcome(2).tokens.size(), 11);
  run();
  LoneModel lone;
  for (const std::uint64_t id : {1U, 2U}) {
    EXPECT_EQ(outcome(id).tokens.size(), 30);
    EXPECT_LT(lone.regret(random_prompt(id, 9), outcome(id).tokens), kEpsilon) << id;
  }
  EXPECT_LT(lone.regret(urgent.prompt, outcome(3).tokens), kEpsilon);
  EXPECT_EQ(outcome(1).steps.back() - outcome(1).steps.front(), 29);  // Only one made room.
  EXPECT_GE(outcome(2).steps.back() - outcome(2).steps.front(), 29 + 5);
  EXPECT_EQ(parked_, 1);
}

TEST_F(RunnerTest, KeepsItsMemoryInTheTypeThatIsAsked) {
  std::size_t before = std::numeric_limits<std::size_t>::max();
  for (const char* const type : {"f16", "q8_0", "q4_0"}) {
    load({.kv_type = type});
    auto prompt = random_prompt(1, 60);
    EXPECT_EQ(run_alone(greedy_job(1, prompt, 10)).end, JobEnd::length) << type;
    const Outcome again = run_alone(greedy_job(2, prompt, 10));
    EXPECT_EQ(again.reused, 59) << type;
    EXPECT_EQ(again.end, JobEnd::length) << type;
    const std::size_t bytes = llama_state_seq_get_size(model_->context(), 0);
    EXPECT_LT(bytes, before) << type;
    before = bytes;
  }
}

TEST_F(RunnerTest, UsesNothingOfAnotherScope) {
  load();
  Job job = greedy_job(1, random_prompt(1, 60), 4);
  job.scope = 1;
  run_alone(job);
  job.id.value = 2;
  job.scope = 2;
  EXPECT_EQ(run_alone(job).reused, 0);
  job.id.value = 3;
  EXPECT_EQ(run_alone(job).reused, 59);
}

TEST_F(RunnerTest, AnswersWithTheAdapterThatIsAsked) {
  load({.adapters = two_adapters()});
  const auto prompt = random_prompt(1, 60);
  LoneModel lone{test_model_path(), two_adapters()};
  std::set<std::vector<TokenId>> texts;
  for (std::uint32_t adapter = 0; adapter < 3; ++adapter) {
    Job job = greedy_job(adapter, prompt, 12);
    job.adapter = adapter;
    const Outcome outcome = run_alone(job);
    EXPECT_EQ(outcome.reused, 0);  // Nobody else's.
    EXPECT_LT(lone.regret(prompt, outcome.tokens, adapter), kEpsilon) << adapter;
    EXPECT_EQ(LoneModel{}.regret(prompt, outcome.tokens) < kEpsilon, adapter == 0);
    texts.insert(outcome.tokens);
    job.id.value += 10;
    EXPECT_EQ(run_alone(job).reused, 59) << adapter;
  }
  EXPECT_EQ(texts.size(), 3);
}

TEST_F(RunnerTest, RefusesAnAdapterThatThereIsNot) {
  load({.adapters = {test_adapter_path(1)}});
  Job job = greedy_job(1, random_prompt(1, 5), 3);
  job.adapter = 2;
  const Outcome outcome = run_alone(job);
  ASSERT_TRUE(outcome.problem);
  EXPECT_EQ(outcome.problem->code, ErrorCode::invalid_request);
}

// Three wait for each other step by step, and no longer.
TEST_F(RunnerTest, AdaptersTakeTurns) {
  load({.adapters = two_adapters()});
  for (std::uint32_t adapter = 0; adapter < 3; ++adapter) {
    Job job = greedy_job(adapter, random_prompt(adapter, 9), 20);
    job.adapter = adapter;
    start(job);
  }
  run();
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto& steps = outcome(id).steps;
    ASSERT_EQ(steps.size(), 20);
    EXPECT_EQ(steps.back() - steps.front(), 57);
  }
}

TEST_F(RunnerTest, RefusesATypeOfMemoryThatThereIsNot) {
  const auto model =
      Model::load({.model_path = test_model_path(), .kv_type = "f15"}, log_, [](float) {});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().detail, HasSubstr("kv_type \"f15\" is unknown"));
}

// Eight jobs of 80 tokens in memory for 256: some must wait in the middle.
TEST_F(RunnerTest, RequeuesTheNewestWhenSharedMemoryIsFull) {
  load({.context_tokens = 256, .sequences_max = 8, .shared_tokens = 256});
  LoneModel lone;
  for (std::uint64_t id = 0; id < 8; ++id) start(greedy_job(id, random_prompt(id, 20), 60));
  run();
  std::size_t interrupted = 0;
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_FALSE(outcome(id).problem) << id;
    EXPECT_EQ(outcome(id).tokens.size(), 60) << id;
    EXPECT_EQ(outcome(id).end, JobEnd::length) << id;
    EXPECT_LT(lone.regret(random_prompt(id, 20), outcome(id).tokens), kSharedEpsilon) << id;
    interrupted += outcome(id).steps.back() - outcome(id).steps.front() > 59 ? 1 : 0;
  }
  EXPECT_GT(interrupted, 0);
  EXPECT_EQ(outcome(0).steps.back() - outcome(0).steps.front(), 59);  // The oldest never waits.
}

// Room for about sixteen of 64 jobs, of all lengths.
TEST_F(RunnerTest, FinishesAllOfMoreJobsThanThereIsRoomFor) {
  load({.context_tokens = 256, .sequences_max = 64, .shared_tokens = 16 * 80});
  LoneModel lone;
  Prng random{3};
  std::map<std::uint64_t, Job> jobs;
  for (std::uint64_t id = 0; id < 64; ++id) {
    const auto prompt = random_prompt(id, 1 + random.below(100));
    jobs[id] = greedy_job(id, prompt, static_cast<std::uint32_t>(1 + random.below(100)));
    start(jobs[id]);
  }
  run();
  for (const auto& [id, job] : jobs) {
    EXPECT_EQ(outcome(id).end, JobEnd::length) << id;
    EXPECT_LT(lone.regret(job.prompt, outcome(id).tokens), kSharedEpsilon) << id;
  }
}

TEST_F(RunnerTest, UsesAllOfSharedMemoryForOne) {
  load({.context_tokens = 4096, .sequences_max = 8, .shared_tokens = 256});
  EXPECT_EQ(model_->context_tokens(), 256);
  const Outcome outcome = run_alone(greedy_job(1, random_prompt(1, 250), 60));
  EXPECT_EQ(outcome.tokens.size(), 6);
  EXPECT_EQ(outcome.end, JobEnd::context);
}

}  // namespace
}  // namespace seedance::llama
