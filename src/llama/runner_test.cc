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
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;
using testing::HasSubstr;

struct Outcome {
  std::vector<TokenId> tokens = {};
  JobEnd end = JobEnd::none;
  std::optional<Problem> problem = {};
  std::vector<int> steps = {};  // That gave the tokens.
  std::vector<Duration> prefills = {};
  std::uint32_t reused = 0;
  std::vector<stream::TokenLogprobs> logprobs = {};

  bool over() const { return end != JobEnd::none || problem; }
};

// A model and its runner, carried on by hand.
class RunnerTest : public testing::Test {
 protected:
  void load(WorkerOptions options = {}) {
    options.model_path = test_model_path();
    options.threads = 1;
    if (options.context_tokens == 0) options.context_tokens = 512;
    auto model = Model::load(options, log_, [](float) {});
    ASSERT_TRUE(model) << model.error().detail;
    model_ = *std::move(model);
    runner_.emplace(*model_);
  }

  void start(const Job& job) {
    outcomes_[job.id.value];
    runner_->on_command(job);
  }

  void cancel(std::uint64_t id, std::uint32_t gen = 1) {
    runner_->on_command(engine::Cancel{{id}, {gen}});
  }

  void step() {
    const auto events = runner_->step();
    ASSERT_TRUE(events) << events.error().detail;
    ++steps_;
    for (const engine::Event& event : *events) {
      if (const auto* failed = std::get_if<engine::JobFailed>(&event)) {
        outcomes_[failed->job.value].problem = failed->problem;
      } else if (const auto* made = std::get_if<engine::Step>(&event)) {
        for (const engine::StepToken& token : made->tokens) take(token);
        parked_ += made->parked;
      }
    }
  }

  void take(const engine::StepToken& token) {
    Outcome& outcome = outcomes_.at(token.job.value);
    EXPECT_FALSE(outcome.over()) << "a token after the end of " << token.job.value;
    outcome.tokens.push_back(token.token);
    outcome.end = token.end;
    outcome.steps.push_back(steps_);
    outcome.prefills.push_back(token.prefill);
    outcome.reused += token.reused;
    for (const auto& each : token.logprobs) outcome.logprobs.push_back(each);
  }

  void run() {
    while (!runner_->idle()) step();
  }

  Outcome run_alone(const Job& job) {
    start(job);
    run();
    return std::exchange(outcomes_[job.id.value], {});
  }

  Outcome& outcome(std::uint64_t id) { return outcomes_.at(id); }

  LogCapture log_;
  std::unique_ptr<Model> model_;
  std::optional<Runner> runner_;
  std::map<std::uint64_t, Outcome> outcomes_;
  int steps_ = 0;
  std::uint32_t parked_ = 0;
};

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

// Jobs of which many begin alike come and go at random, so that gaps open and close, and
// memory moves: no sequence is ever computed with a token of another.
class RunnerLoadTest : public RunnerTest, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(RunnerLoadTest, KeepsSequencesApart) {
  load({.sequences_max = 12, .batch_tokens_max = 64, .shared_tokens = GetParam()});
  LoneModel lone;
  Prng random{7};
  std::map<std::uint64_t, Job> jobs;
  for (std::uint64_t id = 0; id < 90; ++id) {
    auto prompt = random_prompt(100 + random.below(4), random.below(60));
    const auto own = random_prompt(id, 1 + random.below(20));
    prompt.insert(prompt.end(), own.begin(), own.end());
    jobs[id] = greedy_job(id, prompt, static_cast<std::uint32_t>(1 + random.below(30)));
    jobs[id].priority = kPriorities.at(random.below(kPriorityCount));
    start(jobs[id]);
    for (std::uint64_t steps = random.below(3); steps > 0; --steps) step();
    if (random.below(6) == 0) cancel(random.below(id + 1));
  }
  run();
  std::size_t ended = 0;
  std::uint32_t reused = 0;
  for (const auto& [id, job] : jobs) {
    EXPECT_LT(lone.regret(job.prompt, outcome(id).tokens), kEpsilon) << id;
    ended += outcome(id).end == JobEnd::length ? 1 : 0;
    reused += outcome(id).reused;
  }
  EXPECT_GT(ended, 60);
  EXPECT_GT(reused, 0);
  EXPECT_GT(parked_, 0);
}

INSTANTIATE_TEST_SUITE_P(OwnAndShared, RunnerLoadTest, testing::Values(0U, 640U));

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
    EXPECT_LT(lone.regret(random_prompt(id, 20), outcome(id).tokens), kEpsilon) << id;
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
    EXPECT_LT(lone.regret(job.prompt, outcome(id).tokens), kEpsilon) << id;
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
