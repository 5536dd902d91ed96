// What is guessed and computed ahead changes when tokens come, never which.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "llama/test_machine.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;

using Machine = TestMachine;
using Outcome = TestMachine::Outcome;

constexpr std::uint32_t kDrafts = 15;

// Says few words, so that it says the same again and again, but never for long.
Job chatter(std::uint64_t id, std::uint32_t tokens_max) {
  Job job = greedy_job(id, {}, tokens_max);
  job.sampling.temperature = 1;
  job.sampling.seed = id;
  for (std::int32_t word = 400; word < 403; ++word)
    job.sampling.logit_bias.push_back({{word}, 500});
  Prng random{id};
  for (int i = 0; i < 40; ++i) {
    job.prompt.push_back({static_cast<std::int32_t>(400 + random.below(3))});
  }
  return job;
}

TEST(RunnerDraft, TheBestTokenStaysTheBest) {
  Machine machine{kDrafts};
  LoneModel lone;
  for (std::uint64_t id = 0; id < 4; ++id) {
    const auto prompt = random_prompt(id, 20);
    const Outcome outcome = machine.run_alone(greedy_job(id, prompt, 120));
    EXPECT_EQ(outcome.tokens.size(), 120);
    EXPECT_EQ(outcome.end, JobEnd::length);
    EXPECT_LT(lone.regret(prompt, outcome.tokens), kEpsilon) << id;
  }
  EXPECT_GT(machine.accepted, 0);
  EXPECT_GE(machine.drafted, machine.accepted);
}

// The draw of a token depends on its logits, the parameters and its place: not on whether it
// was guessed. Logits differ by what kernels round, so one in a thousand draws may.
TEST(RunnerDraft, ASeedDrawsTheSame) {
  Machine plain{0};
  Machine ahead{kDrafts};
  int same = 0;
  for (std::uint64_t id = 0; id < 20; ++id) {
    Job job = chatter(id, 60);
    job.sampling.frequency_penalty = 0.1F;
    job.sampling.repeat_penalty = 1.01F;
    job.sampling.logprobs = true;
    const Outcome one = plain.run_alone(job);
    const Outcome other = ahead.run_alone(job);
    ASSERT_EQ(other.logprobs.size(), 60);
    same += one.tokens == other.tokens ? 1 : 0;
    if (one.tokens != other.tokens) continue;
    for (std::size_t at = 0; at < 60; ++at) {
      EXPECT_NEAR(one.logprobs[at].chosen, other.logprobs[at].chosen, kEpsilon);
    }
  }
  EXPECT_GE(same, 17);
  EXPECT_EQ(plain.drafted, 0);
  EXPECT_GT(ahead.drafted, ahead.accepted);
  EXPECT_GT(ahead.accepted, 0);
}

// Its automaton sees each token once, whether or not it was guessed.
TEST(RunnerDraft, KeepsToAGrammar) {
  Machine plain{0};
  Machine ahead{kDrafts};
  for (std::uint64_t id = 0; id < 6; ++id) {
    Job job = greedy_job(id, random_prompt(id, 9), 80);
    job.sampling.grammar = "root ::= \"ab\"*";
    const auto tokens = ahead.run_alone(job).tokens;
    EXPECT_EQ(tokens.size(), 80);
    EXPECT_EQ(tokens, plain.run_alone(job).tokens);
  }
  EXPECT_GT(ahead.accepted, 0);
}

// An end token may be among those guessed: nothing comes behind it.
TEST(RunnerDraft, EndsWithTheEndToken) {
  Machine machine{kDrafts};
  const TokenId end = machine.model().end_tokens().front();
  int stopped = 0;
  for (std::uint64_t id = 0; id < 60; ++id) {
    Job job = chatter(id, 100);
    job.sampling.ignore_eos = false;
    job.sampling.logit_bias.push_back({end, 500.0F});
    for (std::size_t at = 9; at < job.prompt.size(); at += 7) job.prompt[at] = end;
    const Outcome outcome = machine.run_alone(job);
    const auto found = std::ranges::find(outcome.tokens, end);
    if (found == outcome.tokens.end()) {
      EXPECT_EQ(outcome.end, JobEnd::length);
      EXPECT_EQ(outcome.tokens.size(), 100);
    } else {
      EXPECT_EQ(outcome.end, JobEnd::stop);
      EXPECT_EQ(found, outcome.tokens.end() - 1);
      ++stopped;
    }
  }
  EXPECT_GT(stopped, 5);
  EXPECT_GT(machine.accepted, 0);
}

TEST(RunnerDraft, EndsWhereTheContextOrTheJobDoes) {
  Machine machine{kDrafts, {.context_tokens = 64}};
  for (std::uint32_t most = 1; most < 40; ++most) {
    const Outcome outcome = machine.run_alone(chatter(most, most));
    EXPECT_EQ(outcome.tokens.size(), std::min(most, 24U));
    EXPECT_EQ(outcome.end, most <= 24 ? JobEnd::length : JobEnd::context);
  }
  EXPECT_GT(machine.drafted, 0);
}

// What an answer left in memory is only what it said.
TEST(RunnerDraft, ACancelledGuessIsNotReused) {
  Machine machine{kDrafts};
  LoneModel lone;
  for (std::uint64_t id = 0; id < 20; ++id) {
    Job job = chatter(id, 400);
    job.sampling.temperature = 0;
    machine.start(job);
    for (int i = 0; i < 12; ++i) machine.step();
    machine.cancel(id);
    auto prompt = job.prompt;
    const auto& said = machine.outcomes[id].tokens;
    prompt.insert(prompt.end(), said.begin(), said.end());
    const Outcome next = machine.run_alone(greedy_job(100 + id, prompt, 10));
    EXPECT_LT(lone.regret(prompt, next.tokens), kEpsilon) << id;
  }
  EXPECT_GT(machine.drafted, 0);
}

class RunnerDraftLoad : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RunnerDraftLoad, KeepsSequencesApart) {
  // Where all share their room, what lies between a sequence's tokens changes how its sums are
  // rounded, with guesses or without.
  const float epsilon = GetParam() > 0 ? kSharedEpsilon : kEpsilon;
  Machine machine{31, {.sequences_max = 4, .batch_tokens_max = 64, .shared_tokens = GetParam()}};
  keeps_sequences_apart(machine, 2, epsilon);
}

INSTANTIATE_TEST_SUITE_P(OwnAndShared, RunnerDraftLoad, testing::Values(0U, 300U));

}  // namespace
}  // namespace seedance::llama
