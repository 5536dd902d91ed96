// A model that guesses ahead, and its runner, carried on by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "llama/runner.h"
#include "llama/test_model.h"

namespace seedance::llama {

class TestMachine {
 public:
  struct Outcome {
    std::vector<TokenId> tokens = {};
    std::vector<stream::TokenLogprobs> logprobs = {};
    engine::JobEnd end = engine::JobEnd::none;
  };

  explicit TestMachine(std::uint32_t draft_tokens_max, WorkerOptions options = {},
                       Runner::Clock clock = std::chrono::steady_clock::now) {
    options.model_path = test_model_path();
    options.threads = 1;
    options.draft_tokens_max = draft_tokens_max;
    if (options.context_tokens == 0) options.context_tokens = 512;
    auto model = Model::load(options, log_, [](float) {});
    SEEDANCE_CHECK(model.has_value(), "the test model loads");
    model_ = *std::move(model);
    const Drafting drafting{.tokens_max = draft_tokens_max, .ngrams = options.draft_model.empty()};
    runner_.emplace(*model_, RunnerLimits{.drafting = drafting}, Fault{}, std::move(clock));
  }

  void start(const engine::Job& job) { runner_->on_command(job); }
  void cancel(std::uint64_t id) { runner_->on_command(engine::Cancel{{id}, {1}}); }

  void step() {
    const auto events = runner_->step();
    ASSERT_TRUE(events) << events.error().detail;
    for (const engine::Event& event : *events) {
      if (std::holds_alternative<engine::Alive>(event)) continue;
      const auto* made = std::get_if<engine::Step>(&event);
      ASSERT_NE(made, nullptr);
      for (const engine::StepToken& token : made->tokens) take(token);
      drafted += made->drafted;
      accepted += made->accepted;
      parked += made->parked;
    }
  }

  void run() {
    while (!runner_->idle()) step();
  }

  Outcome run_alone(const engine::Job& job) {
    start(job);
    run();
    return std::exchange(outcomes[job.id.value], {});
  }

  const Model& model() const { return *model_; }

  std::map<std::uint64_t, Outcome> outcomes;
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;
  std::uint32_t parked = 0;

 private:
  void take(const engine::StepToken& token) {
    Outcome& outcome = outcomes[token.job.value];
    EXPECT_EQ(outcome.end, engine::JobEnd::none) << "a token after the end of " << token.job.value;
    outcome.tokens.push_back(token.token);
    outcome.end = token.end;
    for (const auto& each : token.logprobs) outcome.logprobs.push_back(each);
  }

  LogCapture log_;
  std::unique_ptr<Model> model_;
  std::optional<Runner> runner_;
};

}  // namespace seedance::llama
