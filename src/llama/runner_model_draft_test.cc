// What a draft model guesses changes when tokens come, never which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <vector>

#include "base/random.h"
#include "llama/test_file.h"
#include "llama/test_machine.h"

namespace seedance::llama {
namespace {

using engine::Job;
using engine::JobEnd;
using testing::HasSubstr;

constexpr std::uint32_t kDrafts = 15;

// Whatever is computed takes a tick: a guess costs next to nothing, so that it is known when the
// budget wants some.
Runner::Clock ticks() {
  return [now = std::chrono::steady_clock::time_point{}]() mutable {
    return now += std::chrono::microseconds{100};
  };
}

// A machine whose draft model is of the file.
TestMachine machine(const std::string& draft, WorkerOptions options = {}) {
  options.draft_model = draft;
  return TestMachine{kDrafts, options, ticks()};
}

TEST(RunnerModelDraft, AModelIsAlwaysRightAboutItself) {
  TestMachine itself = machine(test_model_path());
  LoneModel lone;
  for (std::uint64_t id = 0; id < 4; ++id) {
    const auto prompt = random_prompt(id, 20);
    const auto outcome = itself.run_alone(greedy_job(id, prompt, 120));
    EXPECT_EQ(outcome.tokens.size(), 120);
    EXPECT_EQ(outcome.end, JobEnd::length);
    EXPECT_LT(lone.regret(prompt, outcome.tokens), kEpsilon) << id;
  }
  EXPECT_GT(itself.drafted, 300);
  EXPECT_GT(itself.accepted * 100, itself.drafted * 97);  // Near-ties fall otherwise.
}

TEST(RunnerModelDraft, AStrangerIsSoonAskedNoMore) {
  TestMachine strange = machine(test_draft_path());
  LoneModel lone;
  for (std::uint64_t id = 0; id < 4; ++id) {
    const auto prompt = random_prompt(id, 20);
    const auto outcome = strange.run_alone(greedy_job(id, prompt, 200));
    EXPECT_LT(lone.regret(prompt, outcome.tokens), kEpsilon) << id;
  }
  EXPECT_GT(strange.drafted, 0);
  EXPECT_LT(strange.drafted, 200);
}

// As without guesses, but for what kernels round.
TEST(RunnerModelDraft, ASeedDrawsTheSame) {
  TestMachine plain{0};
  TestMachine ahead = machine(test_model_path());
  int same = 0;
  for (std::uint64_t id = 0; id < 20; ++id) {
    Job job = greedy_job(id, random_prompt(id, 9), 60);
    job.sampling.temperature = 0.5;
    job.sampling.seed = id;
    job.sampling.frequency_penalty = 0.1F;
    same += plain.run_alone(job).tokens == ahead.run_alone(job).tokens ? 1 : 0;
  }
  EXPECT_GE(same, 17);
  EXPECT_GT(ahead.accepted, 100);
  EXPECT_GT(ahead.drafted, ahead.accepted);
}

TEST(RunnerModelDraft, KeepsToAGrammar) {
  TestMachine plain{0};
  TestMachine ahead = machine(test_model_path());
  for (std::uint64_t id = 0; id < 6; ++id) {
    const auto prompt = random_prompt(id, 9);
    Job job = greedy_job(id, prompt, 80);
    job.sampling.grammar = "root ::= [a-z ]+";
    const auto tokens = ahead.run_alone(job).tokens;
    EXPECT_EQ(tokens.size(), 80);
    EXPECT_EQ(tokens, plain.run_alone(job).tokens);
  }
  EXPECT_GT(ahead.accepted, 0);
}

TEST(RunnerModelDraft, EndsWhereTheContextOrTheJobDoes) {
  TestMachine itself = machine(test_model_path(), {.context_tokens = 64});
  for (std::uint32_t most = 1; most < 40; ++most) {
    const auto outcome = itself.run_alone(greedy_job(most, random_prompt(most, 40), most));
    EXPECT_EQ(outcome.tokens.size(), std::min(most, 24U));
    EXPECT_EQ(outcome.end, most <= 24 ? JobEnd::length : JobEnd::context);
  }
  EXPECT_GT(itself.accepted, 0);
}

// Each fills a quarter of what all share.
TEST(RunnerModelDraft, GoesOnGuessingWhereRoomIsShared) {
  TestMachine itself =
      machine(test_model_path(), {.context_tokens = 256, .sequences_max = 8, .shared_tokens = 256});
  for (std::uint64_t id = 0; id < 24; ++id) {
    const std::uint32_t before = itself.drafted;
    EXPECT_EQ(itself.run_alone(greedy_job(id, random_prompt(id, 30), 34)).tokens.size(), 34);
    EXPECT_GT(itself.drafted, before) << id;
  }
}

// It guesses for those without adapter, and what it guesses is theirs alone.
TEST(RunnerModelDraft, KnowsNoAdapters) {
  TestMachine itself = machine(test_model_path(), {.adapters = {test_adapter_path(1)}});
  LoneModel lone{test_model_path(), {test_adapter_path(1)}};
  const auto prompt = random_prompt(7, 20);
  Job adapted = greedy_job(1, prompt, 100);
  adapted.adapter = 1;
  EXPECT_LT(lone.regret(prompt, itself.run_alone(adapted).tokens, 1), kEpsilon);
  EXPECT_EQ(itself.drafted, 0);
  adapted.id = {2};
  itself.start(adapted);
  itself.start(greedy_job(3, prompt, 100));
  itself.run();
  EXPECT_LT(lone.regret(prompt, itself.outcomes[2].tokens, 1), kEpsilon);
  EXPECT_LT(lone.regret(prompt, itself.outcomes[3].tokens), kEpsilon);
  EXPECT_GT(itself.accepted, 0);
}

// Whether the draft is right or wrong.
class RunnerModelDraftLoad : public testing::TestWithParam<std::tuple<std::string, std::uint32_t>> {
};

TEST_P(RunnerModelDraftLoad, KeepsSequencesApart) {
  const auto& [draft, shared] = GetParam();
  TestMachine all =
      machine(draft, {.sequences_max = 4, .batch_tokens_max = 64, .shared_tokens = shared});
  keeps_sequences_apart(all, 1, shared > 0 ? kSharedEpsilon : kEpsilon);
}

INSTANTIATE_TEST_SUITE_P(RightAndWrong, RunnerModelDraftLoad,
                         testing::Combine(testing::Values(test_model_path(), test_draft_path()),
                                          testing::Values(0U, 300U)));

// Sequences that share a prefix in the model's memory do not in the draft's, which is as large.
TEST(RunnerModelDraft, GoesOnWhereTheDraftHasNoRoom) {
  TestMachine tight = machine(
      test_model_path(),
      {.context_tokens = 256, .sequences_max = 4, .batch_tokens_max = 256, .shared_tokens = 320});
  LoneModel lone;
  const auto prefix = random_prompt(1, 200);
  std::map<std::uint64_t, Job> jobs;
  for (std::uint64_t id = 0; id < 3; ++id) {
    auto prompt = prefix;
    prompt.push_back({static_cast<std::int32_t>(400 + id)});
    jobs[id] = greedy_job(id, prompt, 25);
    tight.start(jobs[id]);
    for (int i = 0; i < 4; ++i) tight.step();
  }
  tight.run();
  for (const auto& [id, job] : jobs) {
    EXPECT_EQ(tight.outcomes[id].tokens.size(), 25);
    EXPECT_LT(lone.regret(job.prompt, tight.outcomes[id].tokens), kSharedEpsilon) << id;
  }
}

// What loading a draft of the test model ends with.
std::string refusal(const std::string& draft, WorkerOptions options = {}) {
  LogCapture log;
  options.model_path = test_model_path();
  options.draft_model = draft;
  const auto model = Model::load(options, log, [](float) {});
  return model ? "" : model.error().detail;
}

TEST(ModelWithADraft, RefusesAnotherVocabulary) {
  std::string content = content_of(test_draft_path());
  content.replace(content.find("<0x41>"), 6, "<0x4a>");
  const TestFile changed{"changed.gguf", content};
  EXPECT_EQ(refusal(changed.path()),
            "draft_model: '" + changed.path() +
                "' cannot guess for this model: its vocabulary has '<0x4a>' as token 68, the "
                "model's has '<0x41>'");
}

TEST(ModelWithADraft, NamesTheDraftThatCannotBeLoaded) {
  EXPECT_EQ(refusal("/no/such.gguf"),
            "draft_model: model file '/no/such.gguf': No such file or directory");
}

TEST(ModelWithADraft, HasMemoryForTheSameSequencesInBoth) {
  LogCapture log;
  const auto sequences = [&](const std::string& draft) -> std::uint32_t {
    const WorkerOptions options{.model_path = test_model_path(),
                                .context_tokens = 4096,
                                .threads = 1,
                                .draft_model = draft};
    const auto model = Model::load(options, log, [](float) {}, std::uint64_t{48} << 20U);
    EXPECT_TRUE(model) << model.error().detail;
    if (!draft.empty()) {
      const llama_context* context = (*model)->draft()->context();
      EXPECT_EQ(llama_n_seq_max(context), (*model)->sequences_max());
      EXPECT_EQ(llama_n_ctx_seq(context), 4096);
    }
    return (*model)->sequences_max();
  };
  const std::uint32_t with = sequences(test_draft_path());
  EXPECT_GT(with, 1);
  EXPECT_LT(with, sequences(""));
  EXPECT_THAT(refusal(test_draft_path(), {.context_tokens = 33'000'000, .sequences_max = 64}),
              HasSubstr(" GiB are available"));
}

}  // namespace
}  // namespace seedance::llama
