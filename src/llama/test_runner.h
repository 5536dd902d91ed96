// A model and its runner for tests, carried on by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llama/runner.h"
#include "llama/test_model.h"

namespace seedance::llama {

struct RunnerOutcome {
  std::vector<TokenId> tokens = {};
  engine::JobEnd end = engine::JobEnd::none;
  std::optional<Problem> problem = {};
  std::vector<int> steps = {};  // That gave the tokens.
  std::vector<Duration> prefills = {};
  std::uint32_t reused = 0;
  std::vector<stream::TokenLogprobs> logprobs = {};

  bool over() const { return end != engine::JobEnd::none || problem; }
};

class RunnerTest : public testing::Test {
 protected:
  void load(WorkerOptions options = {}, RunnerLimits limits = {}) {
    if (options.model_path.empty()) options.model_path = test_model_path();
    options.threads = 1;
    if (options.context_tokens == 0) options.context_tokens = 512;
    auto model = Model::load(options, log_, [](float) {});
    ASSERT_TRUE(model) << model.error().detail;
    model_ = *std::move(model);
    runner_.emplace(*model_, limits);
  }

  void start(const engine::Job& job) {
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
        restored_ += made->restored;
      }
    }
  }

  void take(const engine::StepToken& token) {
    RunnerOutcome& outcome = outcomes_.at(token.job.value);
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

  RunnerOutcome run_alone(const engine::Job& job) {
    start(job);
    run();
    return std::exchange(outcomes_[job.id.value], {});
  }

  RunnerOutcome& outcome(std::uint64_t id) { return outcomes_.at(id); }

  LogCapture log_;
  std::unique_ptr<Model> model_;
  std::optional<Runner> runner_;
  std::map<std::uint64_t, RunnerOutcome> outcomes_;
  int steps_ = 0;
  std::uint32_t parked_ = 0;
  std::uint32_t restored_ = 0;
};

}  // namespace seedance::llama
