#include "load/statistics.h"

#include <gtest/gtest.h>

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1000s};

constexpr TimePoint at(Duration since_start) {
  return kStart + since_start;
}

// Exact where the bucket's edge would not be: the largest is.
Duration lone(const Statistics& statistics, Figure figure) {
  EXPECT_EQ(statistics.of(figure).count(), 1U);
  return statistics.of(figure).max();
}

TEST(Statistics, CountTheTimesOfARequestFromWhenItWasDue) {
  Statistics statistics{{}, {}, kStart};
  Trace trace = statistics.on_sent({.number = 0, .due = at(0s)}, at(5ms));
  statistics.on_tokens(trace, {0, 1, false}, at(50ms));  // A token, but no text yet.
  statistics.on_tokens(trace, {0, 1, true}, at(100ms));
  statistics.on_tokens(trace, {0, 1, true}, at(120ms));
  statistics.on_tokens(trace, {0, 3, true}, at(180ms));
  statistics.on_done(trace, {.tokens = 6, .prompt_tokens = 9, .queue = 7ms, .prefill = 60ms},
                     at(200ms));
  EXPECT_EQ(lone(statistics, Figure::send_delay), 5ms);
  EXPECT_EQ(lone(statistics, Figure::ttft), 100ms);
  EXPECT_EQ(statistics.of(Figure::itl).count(), 2U);
  EXPECT_EQ(statistics.of(Figure::itl).mean(), 40ms);
  EXPECT_EQ(statistics.of(Figure::itl).max(), 60ms);
  EXPECT_EQ(lone(statistics, Figure::tpot), 20ms);  // 80 ms for the 4 behind the first text.
  EXPECT_EQ(lone(statistics, Figure::e2e), 200ms);
  EXPECT_EQ(lone(statistics, Figure::queue), 7ms);
  EXPECT_EQ(lone(statistics, Figure::prefill), 60ms);
  EXPECT_EQ(lone(statistics, Figure::over_prefill), 40ms);
  EXPECT_EQ(statistics.tokens(), 6U);
  EXPECT_EQ(statistics.prompt_tokens(), 9U);
  EXPECT_EQ(statistics.answer_tokens(), 6U);
}

// Frames of SSE count as a token each, until the usage tells the number.
TEST(Statistics, BelieveTheServerWhereItKnowsOfMoreTokens) {
  Statistics statistics{{}, {}, kStart};
  Trace trace = statistics.on_sent({.number = 0, .due = at(0s)}, at(0s));
  statistics.on_tokens(trace, {0, 1, true}, at(10ms));
  statistics.on_tokens(trace, {0, 1, true}, at(50ms));
  statistics.on_done(trace, {.tokens = 5}, at(60ms));
  EXPECT_EQ(statistics.tokens(), 5U);
  EXPECT_EQ(statistics.of(Figure::tpot).count(), 0U);  // The first frame may have held four.
  EXPECT_EQ(statistics.without_tpot(), 1U);
  EXPECT_EQ(statistics.of(Figure::queue).count(), 0U);
}

// The token that ends a text is in the usage and in no frame.
TEST(Statistics, TakeOneTokenMoreForTheEnd) {
  Statistics statistics{{}, {}, kStart};
  Trace trace = statistics.on_sent({.number = 0, .due = at(0s)}, at(0s));
  for (int i = 0; i < 5; ++i) statistics.on_tokens(trace, {0, 1, true}, at(10ms * (i + 1)));
  statistics.on_done(trace, {.tokens = 6}, at(60ms));
  EXPECT_EQ(lone(statistics, Figure::tpot), 10ms);
  EXPECT_EQ(statistics.without_tpot(), 0U);
}

TEST(Statistics, KnowNoRateOfOneFrame) {
  Statistics statistics{{}, {}, kStart};
  Trace whole = statistics.on_sent({.number = 0, .due = at(0s)}, at(0s));
  statistics.on_tokens(whole, {0, 20, true}, at(10ms));
  statistics.on_done(whole, {.tokens = 20}, at(10ms));
  Trace silent = statistics.on_sent({.number = 1, .due = at(0s)}, at(0s));
  statistics.on_done(silent, {}, at(10ms));
  EXPECT_EQ(statistics.of(Figure::tpot).count(), 0U);
  EXPECT_EQ(statistics.of(Figure::itl).count(), 0U);
  EXPECT_EQ(statistics.of(Figure::ttft).count(), 1U);
  EXPECT_EQ(statistics.measured().succeeded, 2U);
}

TEST(Statistics, LeaveOutTheFirstRequests) {
  Statistics statistics{{.requests = 2}, {}, kStart};
  Trace a = statistics.on_sent({.number = 0, .due = at(0s)}, at(0s));
  const Trace b = statistics.on_sent({.number = 1, .due = at(0s)}, at(0s));
  statistics.on_tokens(a, {0, 10, true}, at(1s));
  statistics.on_done(a, {}, at(1s));
  Trace c = statistics.on_sent({.number = 2, .due = at(1s)}, at(1s));
  statistics.on_tokens(c, {2, 4, true}, at(1500ms));
  EXPECT_FALSE(statistics.window(at(1500ms)));
  statistics.on_failed(b, "overloaded", "try later", at(2s));
  EXPECT_EQ(statistics.window(at(5s)), 3s);
  statistics.on_tokens(c, {2, 6, true}, at(3s));
  statistics.on_done(c, {}, at(4s));
  statistics.end_window(at(4s));
  EXPECT_EQ(statistics.window(at(9s)), 2s);
  EXPECT_EQ(statistics.window_tokens(), 6U);
  EXPECT_EQ(statistics.window_done(), 1U);
  EXPECT_EQ(statistics.tokens(), 20U);
  EXPECT_EQ(statistics.answer_tokens(), 10U);
  EXPECT_EQ(lone(statistics, Figure::ttft), 500ms);
  EXPECT_EQ(statistics.measured().sent, 1U);
  EXPECT_EQ(statistics.warmup().sent, 2U);
  EXPECT_EQ(statistics.warmup().succeeded, 1U);
  EXPECT_EQ(statistics.warmup().failed, 1U);
}

TEST(Statistics, LeaveOutTheFirstSeconds) {
  Statistics statistics{{.time = 2s}, {}, kStart};
  Trace early = statistics.on_sent({.number = 0, .due = at(1s)}, at(1s));
  Trace late = statistics.on_sent({.number = 1, .due = at(2s)}, at(2s));
  statistics.on_tokens(early, {0, 5, true}, at(3s));  // Throughput is whatever is in the window.
  statistics.on_done(early, {}, at(3s));
  statistics.on_tokens(late, {1, 5, true}, at(4s));
  statistics.on_done(late, {}, at(4s));
  EXPECT_EQ(statistics.window(at(4s)), 2s);
  EXPECT_EQ(statistics.window_tokens(), 10U);
  EXPECT_EQ(statistics.window_done(), 2U);
  EXPECT_EQ(lone(statistics, Figure::ttft), 2s);
}

TEST(Statistics, CountNothingBehindTheWindowAsRate) {
  Statistics statistics{{}, {}, kStart};
  Trace trace = statistics.on_sent({.number = 0, .due = at(0s)}, at(0s));
  statistics.on_tokens(trace, {0, 3, true}, at(1s));
  statistics.end_window(at(2s));
  statistics.end_window(at(9s));  // It has ended.
  statistics.on_tokens(trace, {0, 4, true}, at(3s));
  statistics.on_done(trace, {}, at(3s));
  EXPECT_EQ(statistics.window(at(3s)), 2s);
  EXPECT_EQ(statistics.window_tokens(), 3U);
  EXPECT_EQ(statistics.window_done(), 0U);
  EXPECT_EQ(statistics.measured().succeeded, 1U);
}

TEST(Statistics, CountFailuresByTheirCode) {
  Statistics statistics{{}, {}, kStart};
  for (std::uint64_t number = 0; number < 3; ++number) {
    const Trace trace = statistics.on_sent({.number = number, .due = at(0s)}, at(0s));
    statistics.on_failed(trace, number == 2 ? "timeout" : "overloaded",
                         number == 0 ? "first" : "later", at(1s));
  }
  statistics.on_unsent(0);
  EXPECT_EQ(statistics.failures().size(), 2U);
  statistics.on_unsent(4);
  EXPECT_EQ(statistics.failures().at("overloaded").count, 2U);
  EXPECT_EQ(statistics.failures().at("overloaded").first, "first");
  EXPECT_EQ(statistics.failures().at("timeout").count, 1U);
  EXPECT_EQ(statistics.failures().at("not_sent").count, 4U);
  EXPECT_EQ(statistics.unsent(), 4U);
  EXPECT_EQ(statistics.measured().failed, 7U);
  EXPECT_EQ(statistics.of(Figure::e2e).count(), 0U);
}

TEST(Statistics, CountAsGoodWhatKeepsTheSlo) {
  Statistics statistics{{}, {.ttft = 100ms, .itl = 30ms}, kStart};
  const auto run = [&](std::uint64_t number, Duration ttft, Duration gap) {
    Trace trace = statistics.on_sent({.number = number, .due = at(0s)}, at(0s));
    statistics.on_tokens(trace, {number, 1, true}, at(ttft));
    statistics.on_tokens(trace, {number, 1, true}, at(ttft + gap));
    statistics.on_done(trace, {}, at(1s));
  };
  run(0, 100ms, 30ms);
  run(1, 101ms, 30ms);
  run(2, 100ms, 31ms);
  EXPECT_EQ(statistics.measured().succeeded, 3U);
  EXPECT_EQ(statistics.good(), 1U);
  EXPECT_EQ(statistics.window_good(), 1U);
}

}  // namespace
}  // namespace seedance::loadgen
