#include "llama/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "engine/sequence.h"
#include "llama/pieces.h"
#include "llama/test_runner.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;
using testing::HasSubstr;
using Outcome = RunnerOutcome;

TEST_F(RunnerTest, GivesTokensUntilTheLengthIsReached) {
  load();
  const auto prompt = random_prompt(1, 9);
  const Outcome outcome = run_alone(greedy_job(1, prompt, 12));
  EXPECT_EQ(outcome.tokens.size(), 12);
  EXPECT_EQ(outcome.end, JobEnd::length);
  EXPECT_LT(LoneModel{}.regret(prompt, outcome.tokens), kEpsilon);
  EXPECT_GT(outcome.prefills.front(), Duration::zero());
  EXPECT_EQ(outcome.prefills.back(), Duration::zero());
  EXPECT_TRUE(runner_->idle());
}

TEST_F(RunnerTest, EndsWithTheEndToken) {
  load();
  Job job = greedy_job(1, random_prompt(1, 9), 12);
  job.sampling.ignore_eos = false;
  const TokenId end = model_->end_tokens().front();
  job.sampling.logit_bias = {{end, 1000.0F}};
  const Outcome outcome = run_alone(job);
  EXPECT_EQ(outcome.tokens, (std::vector{end}));
  EXPECT_EQ(outcome.end, JobEnd::stop);
}

std::string text_of(const Model& model, std::span<const TokenId> tokens) {
  const auto pieces = read_pieces(llama_model_get_vocab(llama_get_model(model.context())));
  std::string text;
  for (const TokenId token : tokens) text += pieces.visible(token);
  return text;
}

TEST_F(RunnerTest, KeepsToAGrammarAndStopsAtItsEnd) {
  load();
  Job job = greedy_job(1, random_prompt(1, 9), 100);
  job.sampling.ignore_eos = false;
  job.sampling.grammar = R"(root ::= "[" ("12" | "345")  ("," ("12" | "345")){3,9} "]")";
  const Outcome greedy = run_alone(job);
  EXPECT_THAT(text_of(*model_, greedy.tokens),
              testing::MatchesRegex(R"(\[(12|345)(,(12|345)){3,9}\])"));
  EXPECT_EQ(greedy.end, JobEnd::stop);
  EXPECT_TRUE(model_->ends(greedy.tokens.back()));

  job.sampling.temperature = 1;
  job.sampling.seed = 3;
  job.id = {2};
  const Outcome drawn = run_alone(job);
  EXPECT_EQ(drawn.end, JobEnd::stop);
  job.id = {3};
  job.committed.assign(drawn.tokens.begin(), drawn.tokens.begin() + 5);
  const Outcome continued = run_alone(job);
  EXPECT_TRUE(std::ranges::equal(continued.tokens, std::span{drawn.tokens}.subspan(5)));
}

TEST_F(RunnerTest, FailsOnlyTheJobWhoseGrammarLeadsNowhere) {
  load();
  Job job = greedy_job(1, random_prompt(1, 9), 20);
  job.sampling.ignore_eos = false;
  job.sampling.grammar = "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"b\" | \"c\"";
  job.tokens_max = 400;
  start(greedy_job(2, random_prompt(2, 9), 30));
  job.sampling.logit_bias = {};
  start(job);
  run();
  EXPECT_EQ(outcome(2).tokens.size(), 30);
  EXPECT_TRUE(outcome(1).over());

  job.id = {3};
  job.sampling.grammar = "root ::= \"a\"";
  job.committed = {random_prompt(1, 1)};
  const Outcome other = run_alone(job);
  ASSERT_TRUE(other.problem);
  EXPECT_EQ(other.problem->code, ErrorCode::engine_failed);
  EXPECT_THAT(other.problem->message, HasSubstr("do not keep to the grammar"));
  job.id = {4};
  job.committed = {};
  job.sampling.grammar = "root";
  EXPECT_THAT(run_alone(job).problem->message, HasSubstr("The grammar is none"));
}

TEST_F(RunnerTest, EndsWhenTheContextIsFull) {
  load({.context_tokens = 32});
  const Outcome outcome = run_alone(greedy_job(1, random_prompt(1, 20), 100));
  EXPECT_EQ(outcome.tokens.size(), 12);
  EXPECT_EQ(outcome.end, JobEnd::context);
}

// It sees no token of what was dropped, and counts all.
TEST_F(RunnerTest, GoesOnWithoutWhatWasDropped) {
  load({.context_tokens = 32});
  Job job = greedy_job(1, random_prompt(1, 20), 24);
  job.committed = random_prompt(2, 12);
  job.keep = 4;
  job.dropped = 14;
  const auto sequence = engine::sequence_of(job);
  ASSERT_EQ(sequence.size(), 18U);
  const Outcome outcome = run_alone(job);
  EXPECT_EQ(outcome.tokens.size(), 12);
  EXPECT_EQ(outcome.end, JobEnd::length);
  EXPECT_LT(LoneModel{}.regret(sequence, outcome.tokens), kEpsilon);
  job.id = {2};
  job.tokens_max = 100;
  EXPECT_EQ(run_alone(job).end, JobEnd::context);
  job.id = {3};
  job.dropped = 29;
  EXPECT_EQ(run_alone(job).problem->code, ErrorCode::invalid_request);
}

TEST_F(RunnerTest, RefusesAPromptThatFillsTheContext) {
  load({.context_tokens = 32});
  EXPECT_EQ(run_alone(greedy_job(1, random_prompt(1, 31), 9)).end, JobEnd::context);
  Job job = greedy_job(2, random_prompt(1, 30), 9);
  job.committed = random_prompt(2, 2);
  const Outcome outcome = run_alone(job);
  ASSERT_TRUE(outcome.problem);
  EXPECT_EQ(outcome.problem->code, ErrorCode::context_length_exceeded);
  EXPECT_EQ(outcome.problem->numbers,
            (std::vector<Problem::Number>{{"prompt_tokens", 32}, {"context_tokens", 32}}));
}

TEST_F(RunnerTest, RefusesJobsThatMakeNoSense) {
  load();
  const auto code = [&](const Job& job) {
    const Outcome outcome = run_alone(job);
    return outcome.problem ? std::optional{outcome.problem->code} : std::nullopt;
  };
  const Job good = greedy_job(1, random_prompt(1, 5), 3);
  EXPECT_EQ(code(good), std::nullopt);
  Job job = good;
  job.prompt.clear();
  EXPECT_EQ(code(job), ErrorCode::invalid_request);
  job = good;
  job.committed = random_prompt(2, 3);
  EXPECT_EQ(code(job), ErrorCode::invalid_request);
  const auto size = static_cast<std::int32_t>(model_->vocabulary_size());
  for (const std::int32_t id : {-1, size}) {
    job = good;
    job.prompt.push_back({id});
    EXPECT_EQ(code(job), ErrorCode::invalid_request) << id;
    job = good;
    job.committed.push_back({id});
    EXPECT_EQ(code(job), ErrorCode::invalid_request) << id;
    job = good;
    job.sampling.logit_bias = {{{id}, 1.0F}};
    EXPECT_EQ(code(job), ErrorCode::invalid_request) << id;
  }
}

TEST_F(RunnerTest, CancelsAWaitingJob) {
  load({.sequences_max = 1});
  for (std::uint64_t id = 1; id <= 3; ++id) start(greedy_job(id, random_prompt(id, 5), 4));
  step();
  cancel(2);
  run();
  EXPECT_EQ(outcome(1).end, JobEnd::length);
  EXPECT_TRUE(outcome(2).tokens.empty());
  EXPECT_EQ(outcome(3).end, JobEnd::length);
}

TEST_F(RunnerTest, CancelsAJobInItsPrompt) {
  load({.sequences_max = 2, .batch_tokens_max = 16});
  start(greedy_job(1, random_prompt(1, 5), 30));
  step();
  start(greedy_job(2, random_prompt(2, 400), 4));
  step();
  step();
  EXPECT_EQ(outcome(1).tokens.size(), 3);
  EXPECT_TRUE(outcome(2).tokens.empty());
  cancel(2);
  const auto prompt = random_prompt(3, 9);
  start(greedy_job(3, prompt, 4));  // It takes the place that is free at once.
  step();
  EXPECT_EQ(outcome(3).tokens.size(), 1);
  run();
  EXPECT_TRUE(outcome(2).tokens.empty());
  EXPECT_EQ(outcome(1).tokens.size(), 30);
  EXPECT_LT(LoneModel{}.regret(prompt, outcome(3).tokens), kEpsilon);
}

TEST_F(RunnerTest, CancelsADecodingJobAndNoOther) {
  load();
  const auto prompt = random_prompt(2, 8);
  start(greedy_job(1, random_prompt(1, 5), 30));
  start(greedy_job(2, prompt, 30));
  start(greedy_job(3, random_prompt(3, 7), 30));
  step();
  step();
  cancel(1, 2);  // Another generation: nothing happens.
  step();
  cancel(1);
  cancel(1);
  run();
  EXPECT_EQ(outcome(1).tokens.size(), 3);
  EXPECT_EQ(outcome(3).tokens.size(), 30);
  EXPECT_LT(LoneModel{}.regret(prompt, outcome(2).tokens), kEpsilon);
}

TEST_F(RunnerTest, ShowsLifeOnlyWhereItComputedSomething) {
  load({.sequences_max = 1, .batch_tokens_max = 16});
  EXPECT_TRUE(runner_->step()->empty());
  start(greedy_job(1, random_prompt(1, 40), 1));
  EXPECT_EQ(runner_->step().value(), (std::vector<engine::Event>{engine::Alive{}}));
}

TEST_F(RunnerTest, ContinuesFromCommittedTokens) {
  load();
  const auto prompt = random_prompt(1, 9);
  const auto whole = run_alone(greedy_job(1, prompt, 20)).tokens;
  Job job = greedy_job(2, prompt, 20);
  job.committed.assign(whole.begin(), whole.begin() + 8);
  const Outcome rest = run_alone(job);
  EXPECT_EQ(rest.tokens.size(), 12);
  EXPECT_EQ(rest.end, JobEnd::length);
  auto joined = job.committed;
  joined.insert(joined.end(), rest.tokens.begin(), rest.tokens.end());
  EXPECT_LT(LoneModel{}.regret(prompt, joined), kEpsilon);
}

TEST_F(RunnerTest, DrawsTheSameForTheSameSeed) {
  load();
  Job job = greedy_job(1, random_prompt(1, 9), 16);
  job.sampling.temperature = 3;
  std::set<std::vector<TokenId>> texts;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    job.sampling.seed = seed;
    job.id.value = 2 * seed;
    const auto first = run_alone(job).tokens;
    job.id.value = 2 * seed + 1;
    EXPECT_EQ(run_alone(job).tokens, first);
    texts.insert(first);
  }
  EXPECT_EQ(texts.size(), 4);
}

TEST_F(RunnerTest, GivesLogprobsWhenAsked) {
  load();
  Job job = greedy_job(1, random_prompt(1, 9), 3);
  job.sampling.logprobs = true;
  job.sampling.top_logprobs = 2;
  const Outcome outcome = run_alone(job);
  ASSERT_EQ(outcome.logprobs.size(), 3);
  EXPECT_EQ(outcome.logprobs[0].top.size(), 2);
  EXPECT_EQ(outcome.logprobs[0].top[0].token, outcome.tokens[0]);
  EXPECT_EQ(outcome.logprobs[0].top[0].logprob, outcome.logprobs[0].chosen);
}

TEST_F(RunnerTest, ComputesOnlyWhatIsNewOfAConversation) {
  load();
  auto prompt = random_prompt(1, 60);
  const auto answer = run_alone(greedy_job(1, prompt, 10)).tokens;
  prompt.insert(prompt.end(), answer.begin(), answer.end());
  prompt.push_back({301});
  const Outcome next = run_alone(greedy_job(2, prompt, 10));
  EXPECT_EQ(next.reused, 69);  // All but the answer's last token and the new one.
  EXPECT_LT(LoneModel{}.regret(prompt, next.tokens), kEpsilon);
}

// Each answer within is as it were alone; the one that took most is told why it ends.
TEST_F(RunnerTest, BoundsWhatGrammarsTake) {
  load();
  Job small = greedy_job(1, random_prompt(1, 9), 30);
  small.sampling.grammar = "root ::= [a-z]+";
  const auto alone = run_alone(small).tokens;
  constexpr std::uint64_t kBytesMax = 100'000;
  load();
  runner_.emplace(*model_, RunnerLimits{.grammar_bytes_max = kBytesMax});
  Job large = greedy_job(2, random_prompt(2, 9), 30);
  large.sampling.grammar = "root ::= [a-z]{2000} | [a-y]{2000} | [a-x]{2000}";
  start(large);
  start(small);
  run();
  EXPECT_EQ(outcome(1).tokens, alone);
  ASSERT_TRUE(outcome(2).problem);
  EXPECT_EQ(outcome(2).problem->code, ErrorCode::overloaded);
  EXPECT_EQ(outcome(2).problem->numbers.at(2).value, kBytesMax);
  EXPECT_TRUE(runner_->idle());
}

// Not the one that runs, though its grammar takes more.
TEST_F(RunnerTest, RefusesTheGrammarThatComesWhereThereIsNoRoom) {
  load();
  Job running = greedy_job(1, random_prompt(1, 9), 30);
  const auto said = [](std::size_t letters) {
    return "root ::= \"" + std::string(letters, 'a') + "\"";
  };
  running.sampling.grammar = said(20'000);
  const auto alone = run_alone(running).tokens;
  Job coming = greedy_job(2, random_prompt(2, 9), 1);
  coming.sampling.grammar = said(15'000);
  const text::PieceOrder pieces{
      read_pieces(llama_model_get_vocab(llama_get_model(model_->context())))};
  const auto bytes = [&](const Job& job) {
    return text::TokenConstraint{*text::Grammar::parse(job.sampling.grammar), pieces}.bytes();
  };
  load();
  runner_.emplace(*model_, RunnerLimits{.grammar_bytes_max = bytes(running) + bytes(coming)});
  start(running);
  for (int i = 0; i < 10; ++i) step();
  start(coming);
  run();
  EXPECT_EQ(outcome(1).tokens, alone);
  ASSERT_TRUE(outcome(2).problem);
  EXPECT_EQ(outcome(2).problem->code, ErrorCode::overloaded);
  const auto& numbers = outcome(2).problem->numbers;
  EXPECT_GT(numbers.at(0).value + numbers.at(1).value, numbers.at(2).value);
  coming.id = {3};
  EXPECT_EQ(run_alone(coming).end, JobEnd::length) << "there is room again";
}

TEST_F(RunnerTest, UsesAgainWhatIsLongEnough) {
  for (const auto& [reuse_min, reused] : {std::pair{0U, 0U}, {60U, 0U}, {59U, 59U}}) {
    load({.reuse_min = reuse_min});
    run_alone(greedy_job(1, random_prompt(1, 60), 1));
    EXPECT_EQ(run_alone(greedy_job(2, random_prompt(1, 60), 1)).reused, reused) << reuse_min;
  }
}

TEST_F(RunnerTest, ComputesACommonPrefixOnce) {
  load();
  LoneModel lone;
  std::map<std::uint64_t, std::vector<TokenId>> prompts;
  for (std::uint64_t id = 0; id < 8; ++id) {
    prompts[id] = random_prompt(99, 100);
    const auto own = random_prompt(id, 5);
    prompts[id].insert(prompts[id].end(), own.begin(), own.end());
    start(greedy_job(id, prompts[id], 8));
  }
  run();
  std::uint32_t reused = 0;
  for (const auto& [id, prompt] : prompts) {
    reused += outcome(id).reused;
    EXPECT_LT(lone.regret(prompt, outcome(id).tokens), kEpsilon) << id;
  }
  EXPECT_EQ(reused, 7 * 100);
}

}  // namespace
}  // namespace seedance::llama
