// What parked jobs had computed comes back from the host's memory, and is what it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "llama/test_runner.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;

constexpr RunnerLimits kPark{.park_bytes_max = std::uint64_t{64} << 20U};

Job job_of(std::uint64_t id, Priority priority, std::uint32_t tokens_max = 30,
           std::size_t prompt = 60) {
  Job job = greedy_job(id, random_prompt(id, prompt), tokens_max);
  job.priority = priority;
  return job;
}

class RunnerParkTest : public RunnerTest, public testing::WithParamInterface<WorkerOptions> {
 protected:
  // Two jobs run; a more urgent one parks the second.
  void park() {
    for (const std::uint64_t id : {1U, 2U}) start(job_of(id, Priority::batch));
    while (outcome(2).tokens.size() < 10) step();
    start(job_of(3, Priority::realtime, 5));
    step();
    EXPECT_EQ(parked_, 1);
  }

  void expect_right(float epsilon = kEpsilon) {
    LoneModel lone{GetParam().model_path};
    for (const std::uint64_t id : {1U, 2U, 3U}) {
      EXPECT_EQ(outcome(id).end, JobEnd::length) << id;
      EXPECT_LT(lone.regret(random_prompt(id, 60), outcome(id).tokens), epsilon) << id;
    }
  }
};

std::vector<WorkerOptions> all_kinds() {
  std::vector<WorkerOptions> all;
  for (const std::uint32_t shared : {0U, 640U}) {
    for (const char* const type : {"f16", "q8_0"}) {
      all.push_back({.model_path = test_model_path(),
                     .context_tokens = 256,
                     .sequences_max = 2,
                     .shared_tokens = shared,
                     .kv_type = type});
    }
  }
  all.push_back({.model_path = recurrent_model_path(), .context_tokens = 256, .sequences_max = 2});
  return all;
}

TEST_P(RunnerParkTest, AParkedJobGoesOnWithWhatItHad) {
  load(GetParam(), kPark);
  park();
  EXPECT_EQ(runner_->take_memory().saved_bytes, model_->sequence_bytes().of(69));
  run();
  EXPECT_EQ(restored_, 1);
  EXPECT_EQ(runner_->take_memory().saved_bytes, 0);
  // Quantised memory, lone or not, is coarser than the lone model's.
  if (GetParam().kv_type == "f16") expect_right();
}

// The same as if nobody had come between.
TEST_P(RunnerParkTest, AParkedJobSaysWhatItWouldHaveSaid) {
  load(GetParam(), kPark);
  for (const std::uint64_t id : {1U, 2U}) start(job_of(id, Priority::batch));
  run();
  const std::vector<TokenId> alone = outcome(2).tokens;
  load(GetParam(), kPark);
  outcomes_.clear();
  park();
  run();
  EXPECT_EQ(restored_, 1);
  EXPECT_EQ(outcome(2).tokens, alone);
}

TEST_P(RunnerParkTest, WhatNobodyWantsAnyMoreIsDroppedAtOnce) {
  load(GetParam(), kPark);
  park();
  for (const std::uint64_t id : {2U, 1U, 3U}) cancel(id);
  EXPECT_FALSE(runner_->idle());
  run();
  EXPECT_EQ(runner_->take_memory().saved_bytes, 0);
  EXPECT_EQ(restored_, 0);
}

TEST_P(RunnerParkTest, WithoutMemoryForItAJobIsComputedAgain) {
  load(GetParam(), {.park_bytes_max = 100});
  park();
  run();
  EXPECT_EQ(restored_, 0);
  if (GetParam().kv_type == "f16") expect_right();
}

INSTANTIATE_TEST_SUITE_P(Kinds, RunnerParkTest, testing::ValuesIn(all_kinds()));

// Room for some of the states that there are, of jobs that come and go.
TEST_P(RunnerParkTest, KeepsSequencesApartUnderRandomLoad) {
  WorkerOptions options = GetParam();
  options.sequences_max = 6;
  options.batch_tokens_max = 64;
  constexpr std::uint64_t kBytesMax = 150'000;
  load(options, {.park_bytes_max = kBytesMax});
  LoneModel lone{GetParam().model_path};
  Prng random{11};
  std::map<std::uint64_t, Job> jobs;
  for (std::uint64_t id = 0; id < 60; ++id) {
    jobs[id] = job_of(id, kPriorities.at(random.below(kPriorityCount)),
                      static_cast<std::uint32_t>(1 + random.below(30)), 1 + random.below(60));
    start(jobs[id]);
    for (std::uint64_t steps = random.below(4); steps > 0; --steps) {
      step();
      EXPECT_LE(runner_->take_memory().saved_bytes, kBytesMax);
    }
    if (random.below(6) == 0) cancel(random.below(id + 1));
  }
  run();
  EXPECT_EQ(runner_->take_memory().saved_bytes, 0);
  EXPECT_GT(restored_, 0);
  if (options.kv_type != "f16") return;
  for (const auto& [id, job] : jobs) {
    EXPECT_LT(lone.regret(job.prompt, outcome(id).tokens), kSharedEpsilon) << id;
  }
}

// Eight jobs of 80 tokens in memory for 256.
TEST_F(RunnerTest, WhoeverFindsNoRoomKeepsWhatItHad) {
  load({.context_tokens = 256, .sequences_max = 8, .shared_tokens = 256}, kPark);
  LoneModel lone;
  for (std::uint64_t id = 0; id < 8; ++id) start(greedy_job(id, random_prompt(id, 20), 60));
  run();
  EXPECT_GT(restored_, 0);
  EXPECT_EQ(runner_->take_memory().saved_bytes, 0);
  for (std::uint64_t id = 0; id < 8; ++id) {
    EXPECT_EQ(outcome(id).tokens.size(), 60) << id;
    EXPECT_LT(lone.regret(random_prompt(id, 20), outcome(id).tokens), kSharedEpsilon) << id;
  }
}

// Whoever lost its slot because its context was full has the next one.
TEST_F(RunnerTest, AJobThatGoesOnIsNotBehindNewOnes) {
  load({.sequences_max = 1});
  start(greedy_job(1, random_prompt(1, 9), 20));
  step();
  for (const std::uint64_t id : {2U, 3U}) start(greedy_job(id, random_prompt(id, 9), 5));
  Job again = greedy_job(4, random_prompt(4, 9), 20);
  again.committed = random_prompt(5, 10);
  start(again);
  run();
  EXPECT_LT(outcome(1).steps.back(), outcome(4).steps.front());
  EXPECT_LT(outcome(4).steps.back(), outcome(2).steps.front());
  EXPECT_LT(outcome(2).steps.back(), outcome(3).steps.front());
}

}  // namespace
}  // namespace seedance::llama
