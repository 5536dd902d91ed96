#include "scripted/scripted_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace seedance::scripted {
namespace {

using namespace std::chrono_literals;
using engine::Cancel;
using engine::Job;
using engine::JobEnd;
using engine::JobFailed;
using engine::StepToken;

constexpr TimePoint kBegin{1h};

Job job(std::uint64_t id, std::uint32_t tokens_max = 1000, std::vector<TokenId> prompt = {{1}}) {
  return {.id = {id}, .gen = {1}, .prompt = std::move(prompt), .tokens_max = tokens_max};
}

// An engine and its simulated time; keeps what it said.
class World {
 public:
  explicit World(const Script& script) : engine(script) {
    ready = std::get<engine::Ready>(engine.next().value());
  }

  void command(engine::Command command) {
    engine.on_command(std::move(command), now);
    drain();
  }

  // Advances to each deadline until nothing runs or `until` is reached.
  void run(TimePoint until = kBegin + 24h) {
    while (engine.deadline() <= until) {
      now = std::max(now, engine.deadline());
      engine.on_time(now);
      drain();
    }
    if (until < kBegin + 24h) now = until;
  }

  void drain() {
    while (auto event = engine.next()) {
      if (auto* const step = std::get_if<engine::Step>(&*event)) {
        for (StepToken& token : step->tokens) {
          times.push_back(now);
          tokens.push_back(std::move(token));
        }
        ++steps;
      } else if (auto* const one = std::get_if<JobFailed>(&*event)) {
        failures.push_back(*one);
      } else {
        died = std::get<engine::Failed>(*event).message;
      }
    }
  }

  std::vector<TokenId> of(std::uint64_t id) const {
    std::vector<TokenId> ids;
    for (const StepToken& token : tokens) {
      if (token.job.value == id) ids.push_back(token.token);
    }
    return ids;
  }

  ScriptedEngine engine;
  engine::Ready ready;
  TimePoint now = kBegin;
  std::vector<StepToken> tokens;
  std::vector<TimePoint> times;  // Of each of tokens.
  std::vector<JobFailed> failures;
  std::string died;
  int steps = 0;
};

TEST(ScriptedEngine, SaysReadyFirst) {
  const World world{{.context = 77, .sequences = 3}};
  EXPECT_EQ(world.ready.context_tokens, 77U);
  EXPECT_EQ(world.ready.sequences_max, 3U);
  EXPECT_EQ(world.ready.vocabulary_size, world.engine.vocabulary().pieces().size());
  EXPECT_EQ(world.engine.deadline(), kNever);
}

TEST(ScriptedEngine, EndsByItselfWithAnEndToken) {
  World world{{.length = 20}};
  world.command(job(1));
  world.run();
  ASSERT_EQ(world.tokens.size(), 20U);
  EXPECT_EQ(world.tokens.back().token, kEnd);
  EXPECT_EQ(world.tokens.back().end, JobEnd::stop);
  for (std::size_t i = 0; i < 19; ++i) EXPECT_EQ(world.tokens[i].end, JobEnd::none);
  EXPECT_EQ(world.engine.running(), 0U);
}

TEST(ScriptedEngine, TokensDependOnlyOnThePrompt) {
  World alone{{.length = 40}};
  alone.command(job(1));
  alone.run();
  World crowd{{.rate = 7, .jitter = 0.9, .length = 40, .sequences = 2}};
  for (std::uint64_t id = 1; id < 6; ++id) crowd.command(job(id, 1000, {{1}, {9}}));
  crowd.command(job(6));
  crowd.run();
  EXPECT_EQ(crowd.of(6), alone.of(1));
  EXPECT_EQ(crowd.of(5), crowd.of(1));
  EXPECT_NE(crowd.of(5), crowd.of(6));
}

TEST(ScriptedEngine, ContinuesCommittedTokensAtEveryOffset) {
  World whole{{.length = 60}};
  whole.command(job(1, 50));
  whole.run();
  const auto tokens = whole.of(1);
  ASSERT_EQ(tokens.size(), 50U);
  EXPECT_EQ(whole.tokens.back().end, JobEnd::length);
  for (std::ptrdiff_t k = 0; k < 50; ++k) {
    World rest{{.length = 60}};
    Job continued = job(2, 50);
    continued.committed.assign(tokens.begin(), tokens.begin() + k);
    rest.command(continued);
    rest.run();
    ASSERT_EQ(rest.of(2), std::vector<TokenId>(tokens.begin() + k, tokens.end())) << k;
    EXPECT_EQ(rest.tokens.back().end, JobEnd::length);
  }
}

// Whoever cuts elsewhere hears another story.
TEST(ScriptedEngine, WithoutSomeTokensItIsAnotherStory) {
  const auto story = [](std::uint32_t dropped, std::size_t committed, const auto& tokens) {
    World world{{.length = 60, .context = 40}};
    Job cut = job(1, 45, {{1}, {2}, {3}});
    cut.keep = 1;
    cut.dropped = dropped;
    cut.committed.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(committed));
    world.command(cut);
    world.run();
    EXPECT_EQ(world.tokens.back().end, JobEnd::length);
    std::vector<TokenId> all = cut.committed;
    const auto more = world.of(1);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<TokenId> begun = [] {
    World world{{.length = 60}};
    world.command(job(1, 20, {{1}, {2}, {3}}));
    world.run();
    return world.of(1);
  }();
  const auto tokens = story(18, 20, begun);
  ASSERT_EQ(tokens.size(), 45U);
  for (std::size_t k = 21; k < 45; ++k) EXPECT_EQ(story(18, k, tokens), tokens) << k;
  EXPECT_NE(story(17, 20, begun), tokens);
  EXPECT_NE(story(18, 19, begun), tokens);
}

TEST(ScriptedEngine, TakesItsTime) {
  World world{{.rate = 50, .prefill = 10ms, .length = 5}};
  world.command(job(1, 1000, {{1}, {2}, {3}}));
  EXPECT_EQ(world.engine.deadline(), kBegin + 30ms);
  world.run();
  EXPECT_EQ(world.times, (std::vector{kBegin + 30ms, kBegin + 50ms, kBegin + 70ms, kBegin + 90ms,
                                      kBegin + 110ms}));
  EXPECT_EQ(world.tokens[0].prefill, 30ms);
  EXPECT_EQ(world.tokens[1].prefill, 0ms);
}

TEST(ScriptedEngine, ComesEarlyForNobody) {
  World world{{.rate = 50, .prefill = 0us}};
  world.command(job(1));
  world.engine.on_time(kBegin - 1ns);
  EXPECT_EQ(world.engine.next(), std::nullopt);
}

TEST(ScriptedEngine, KeepsItsRateWhenItsOwnerIsLate) {
  World world{{.rate = 50, .prefill = 0us}};
  world.command(job(1));
  world.now = kBegin + 100ms;
  world.engine.on_time(world.now);
  world.drain();
  EXPECT_EQ(world.steps, 1);  // One step a call, however much is due.
  world.run(kBegin + 100ms);
  EXPECT_EQ(world.tokens.size(), 6U);
  EXPECT_EQ(world.engine.deadline(), kBegin + 120ms);
}

TEST(ScriptedEngine, PutsWhatIsDueTogetherIntoOneStep) {
  World world{{.rate = 50, .length = 10}};
  for (std::uint64_t id = 0; id < 8; ++id) world.command(job(id));
  world.run();
  EXPECT_EQ(world.tokens.size(), 80U);
  EXPECT_EQ(world.steps, 10);
}

// As engines do that compute in batches.
TEST(ScriptedEngine, AStepIsForAllThatAreDueUntilIt) {
  World world{{.rate = 20, .prefill = {}, .step = 50ms}};
  world.now += 1ms;
  world.command(job(1, 3));
  world.now += 7ms;
  world.command(job(2, 3));
  world.run();
  EXPECT_EQ(world.steps, 3);
  for (const TimePoint time : world.times) EXPECT_EQ(time.time_since_epoch() % 50ms, Duration{});
}

// One that was replaced or cancelled has no turn left.
TEST(ScriptedEngine, NoTurnOutlivesItsJob) {
  World world{{.rate = 0, .prefill = {}}};
  world.command(job(1, 2));
  Job newer = job(1, 2);
  newer.gen = {2};
  world.command(newer);
  EXPECT_EQ(world.engine.deadline(), kBegin);
  world.engine.on_time(world.now);
  world.drain();
  EXPECT_EQ(world.tokens.size(), 1U);
  world.command(Cancel{.id = {1}, .gen = {2}});
  EXPECT_EQ(world.engine.deadline(), kNever);
}

TEST(ScriptedEngine, JitterIsDeterministicAndBounded) {
  World one{{.rate = 100, .jitter = 0.5, .length = 100}};
  World two{{.rate = 100, .jitter = 0.5, .length = 100}};
  for (World* const world : {&one, &two}) {
    world->command(job(1));
    world->run();
  }
  EXPECT_EQ(one.times, two.times);
  std::set<Duration> pauses;
  for (std::size_t i = 1; i < one.times.size(); ++i) {
    pauses.insert(one.times[i] - one.times[i - 1]);
  }
  EXPECT_GT(pauses.size(), 50U);
  EXPECT_GE(*pauses.begin(), 5ms);
  EXPECT_LE(*pauses.rbegin(), 15ms);
}

TEST(ScriptedEngine, RateZeroMakesNoPauses) {
  World world{{.rate = 0, .prefill = 0us, .length = 100}};
  world.command(job(1));
  world.run();
  EXPECT_EQ(world.tokens.size(), 100U);
  EXPECT_EQ(world.now, kBegin);
}

TEST(ScriptedEngine, JobsWaitTheirTurn) {
  World world{{.rate = 50, .prefill = 0us, .length = 3, .sequences = 2}};
  for (std::uint64_t id = 1; id <= 5; ++id) world.command(job(id));
  EXPECT_EQ(world.engine.running(), 2U);
  EXPECT_EQ(world.engine.waiting(), 3U);
  world.run();
  std::vector<std::uint64_t> order;
  for (const StepToken& token : world.tokens) {
    if (token.end == JobEnd::stop) order.push_back(token.job.value);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(world.now, kBegin + 120ms);  // Three rounds of 0, 20 and 40 ms.
}

TEST(ScriptedEngine, JobsOfHigherClassesGoFirst) {
  World world{{.sequences = 1}};
  const std::vector<Priority> classes{Priority::batch, Priority::batch, Priority::realtime,
                                      Priority::interactive, Priority::realtime};
  for (std::uint64_t id = 0; id < classes.size(); ++id) {
    Job one = job(id, 1);
    one.priority = classes[id];
    world.command(one);
  }
  world.run();
  std::vector<std::uint64_t> order;
  for (const StepToken& token : world.tokens) order.push_back(token.job.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 2, 4, 3, 1}));
}

TEST(ScriptedEngine, CancelEndsARunningJobAndGivesItsPlaceAway) {
  World world{{.rate = 50, .prefill = 0us, .sequences = 1}};
  world.command(job(1));
  world.command(job(2));
  world.command(job(3));
  world.run(kBegin + 45ms);
  EXPECT_EQ(world.of(1).size(), 3U);
  world.command(Cancel{.id = {2}, .gen = {1}});
  world.command(Cancel{.id = {1}, .gen = {1}});
  world.run(kBegin + 65ms);
  EXPECT_EQ(world.of(1).size(), 3U);
  EXPECT_EQ(world.of(2).size(), 0U);
  EXPECT_EQ(world.of(3).size(), 2U);  // At 45 and 65 ms.
  world.command(Cancel{.id = {3}, .gen = {1}});
  world.command(Cancel{.id = {3}, .gen = {1}});
  EXPECT_EQ(world.engine.deadline(), kNever);
}

TEST(ScriptedEngine, OlderGenerationsAreIgnored) {
  World world{{.rate = 50, .prefill = 0us, .length = 10}};
  Job newer = job(1);
  newer.gen = {2};
  world.command(job(1));
  world.run(kBegin + 10ms);
  newer.committed = world.of(1);
  world.command(newer);
  world.command(job(1));
  world.command(Cancel{.id = {1}, .gen = {1}});
  world.run();
  ASSERT_EQ(world.tokens.size(), 10U);
  EXPECT_EQ(world.tokens[0].gen, Generation{1});
  for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ(world.tokens[i].gen, Generation{2});
}

TEST(ScriptedEngine, EndsWhereTheContextIsFull) {
  World world{{.context = 10}};
  world.command(job(1, 1000, {{1}, {2}, {3}}));
  world.run();
  EXPECT_EQ(world.tokens.size(), 7U);
  EXPECT_EQ(world.tokens.back().end, JobEnd::context);
  EXPECT_TRUE(world.failures.empty());
}

TEST(ScriptedEngine, RefusesJobsThatCannotRun) {
  World world{{.context = 4}};
  world.command(job(1, 10, {{1}, {2}, {3}, {4}}));
  world.command(job(2, 10, {}));
  world.command(job(3, 10, {{-1}}));
  Job done = job(4, 1);
  done.committed = {{5}};
  world.command(done);
  ASSERT_EQ(world.failures.size(), 4U);
  EXPECT_EQ(world.failures[0].problem.code, ErrorCode::context_length_exceeded);
  EXPECT_EQ(world.failures[0].problem.numbers,
            (std::vector<Problem::Number>{{"prompt_tokens", 4}, {"context_tokens", 4}}));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(world.failures[i].problem.code, ErrorCode::invalid_request);
  }
  EXPECT_EQ(world.engine.deadline(), kNever);
}

TEST(ScriptedEngine, IgnoreEosGoesOnToTheLimit) {
  World world{{.length = 5}};
  Job endless = job(1, 50);
  endless.sampling.ignore_eos = true;
  world.command(endless);
  world.run();
  EXPECT_EQ(world.tokens.size(), 50U);
  EXPECT_EQ(world.tokens.back().end, JobEnd::length);
}

TEST(ScriptedEngine, LogprobsAreThoseOfADistribution) {
  World world{{.length = 30}};
  Job asked = job(1);
  asked.sampling.logprobs = true;
  asked.sampling.top_logprobs = 20;
  world.command(asked);
  world.run();
  for (const StepToken& token : world.tokens) {
    ASSERT_EQ(token.logprobs.size(), 1U);
    const stream::TokenLogprobs& logprobs = token.logprobs[0];
    ASSERT_EQ(logprobs.top.size(), 20U);
    EXPECT_EQ(logprobs.top[0], (stream::Candidate{token.token, logprobs.chosen}));
    std::set<TokenId> distinct;
    double sum = 0;
    float last = 0;
    for (const stream::Candidate& candidate : logprobs.top) {
      EXPECT_LT(candidate.logprob, last);
      EXPECT_TRUE(world.engine.vocabulary().pieces().contains(candidate.token));
      distinct.insert(candidate.token);
      sum += std::exp(candidate.logprob);
      last = candidate.logprob;
    }
    EXPECT_EQ(distinct.size(), 20U);
    EXPECT_LE(sum, 1.000001);
  }
}

TEST(ScriptedEngine, GivesNoLogprobsUnasked) {
  World world{{.length = 3}};
  world.command(job(1));
  world.run();
  EXPECT_TRUE(world.tokens[0].logprobs.empty());
}

TEST(ScriptedEngine, DiesAtItsStepForGood) {
  World world{{.die_at_step = 4}};
  world.command(job(1));
  world.run();
  EXPECT_EQ(world.tokens.size(), 3U);
  EXPECT_NE(world.died, "");
  world.command(job(2));
  world.engine.on_time(world.now + 1h);
  EXPECT_EQ(world.engine.next(), std::nullopt);
  EXPECT_EQ(world.engine.deadline(), kNever);
}

TEST(ScriptedEngine, FailsEveryStreamAtItsToken) {
  World world{{.sequences = 1, .fail_at_token = 2}};
  world.command(job(1));
  world.command(job(2));
  world.run();
  EXPECT_EQ(world.of(1).size(), 2U);
  EXPECT_EQ(world.of(2).size(), 2U);
  ASSERT_EQ(world.failures.size(), 2U);
  EXPECT_EQ(world.failures[0].problem.code, ErrorCode::engine_failed);
}

TEST(ScriptedEngine, StallsAtItsToken) {
  for (const std::uint64_t token : {0U, 2U}) {
    World world{{.rate = 50, .prefill = 0us, .stall = Stall{.token = token, .time = 300ms}}};
    world.command(job(1));
    world.run(kBegin + 400ms);
    EXPECT_EQ(world.times[token], kBegin + token * 20ms + 300ms);
    EXPECT_EQ(world.times[token + 1], world.times[token] + 20ms);
  }
}

}  // namespace
}  // namespace seedance::scripted
