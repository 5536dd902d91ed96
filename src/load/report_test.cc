#include "load/report.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr TimePoint kStart{1000s};

// Four requests, one a second: two succeed, one breaks the SLO, one is refused.
RunResult made_up() {
  Statistics statistics{{}, {.ttft = 300ms}, kStart};
  for (std::uint64_t number = 0; number < 3; ++number) {
    const TimePoint due = kStart + number * 1s;
    Trace trace = statistics.on_sent({.number = number, .due = due}, due);
    const Duration ttft = number == 2 ? 400ms : 100ms;
    statistics.on_tokens(trace, {number, 1, true}, due + ttft);
    statistics.on_tokens(trace, {number, 1, true}, due + ttft + 50ms);
    statistics.on_done(trace, {.tokens = number == 1 ? 6U : 3U, .prompt_tokens = 10}, due + 500ms);
  }
  const Trace refused = statistics.on_sent({.number = 3, .due = kStart + 3s}, kStart + 3s);
  statistics.on_failed(refused, "overloaded", "the queue is full", kStart + 4s);
  statistics.on_unsent(1);
  statistics.end_window(kStart + 4s);
  return {
      .statistics = statistics, .end = kStart + 5s, .elapsed = 10s, .cpu = 250ms, .cpu_over = 5s};
}

RunOptions closed_loop() {
  return {.target = {.api = Api::chat}, .shape = {.concurrency = 1}};
}

TEST(JsonReport, HasEveryFigure) {
  const std::string text =
      json_report({.url = "http://h", .model = "m", .slo = "ttft=300ms"}, closed_loop(), made_up());
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  const auto report = boost::json::parse(text).as_object();
  EXPECT_EQ(report.at("api"), "chat");
  EXPECT_EQ(report.at("model"), "m");
  EXPECT_EQ(report.at("load"), boost::json::parse(R"({"loop":"closed","concurrency":1,"seed":1})"));
  EXPECT_EQ(report.at("requests"), boost::json::parse(R"({"sent":4,"succeeded":3,"failed":2})"));
  EXPECT_EQ(report.at("errors"), boost::json::parse(R"({"not_sent":1,"overloaded":1})"));
  EXPECT_EQ(report.at("left_out"),
            boost::json::parse(R"({"share":0.4,"failed":1,"not_sent":1,"interrupted":0,)"
                               R"("without_tpot":1})"));
  EXPECT_EQ(report.at("tpot_ms").at("count"), 2);
  EXPECT_EQ(report.at("error_messages").at("overloaded"), "the queue is full");
  EXPECT_EQ(report.at("window_s").to_number<double>(), 4);
  EXPECT_EQ(report.at("tokens_per_s").to_number<double>(), 3);
  EXPECT_EQ(report.at("requests_per_s").to_number<double>(), 0.75);
  EXPECT_EQ(report.at("answer_tokens"), 12);
  EXPECT_EQ(report.at("prompt_tokens"), 30);
  EXPECT_EQ(report.at("goodput"),
            boost::json::parse(R"({"slo":"ttft=300ms","share":0.4,"requests_per_s":0.5})"));
  EXPECT_EQ(report.at("ttft_ms").at("count"), 3);
  EXPECT_EQ(report.at("ttft_ms").at("mean").to_number<double>(), 200);
  EXPECT_EQ(report.at("ttft_ms").at("max").to_number<double>(), 400);
  const auto p50 = report.at("ttft_ms").at("p50").to_number<double>();
  EXPECT_GE(p50, 100);
  EXPECT_LE(p50, 100 * (1 + LatencyHistogram::kErrorMax));
  EXPECT_EQ(report.at("itl_ms").at("max").to_number<double>(), 50);
  EXPECT_EQ(report.at("tpot_ms").at("max").to_number<double>(), 50);
  EXPECT_EQ(report.at("e2e_ms").at("p99.9").to_number<double>(), 500);
  EXPECT_TRUE(report.at("queue_ms").is_null());
  EXPECT_EQ(report.at("client_cpu_s").to_number<double>(), 0.25);
  EXPECT_EQ(report.at("client_cpu_over_s").to_number<double>(), 5);
  EXPECT_EQ(report.at("interrupted"), false);
}

TEST(JsonReport, KnowsNoRatesWithoutAWindow) {
  RunOptions options = closed_loop();
  options.target.api = Api::native;
  options.shape.rate = 5;
  const RunResult nothing{
      .statistics = Statistics{{.time = 10s}, {}, kStart}, .end = kStart, .interrupted = true};
  const auto report = boost::json::parse(json_report({.url = "u"}, options, nothing)).as_object();
  EXPECT_TRUE(report.at("tokens_per_s").is_null());
  EXPECT_TRUE(report.at("goodput").is_null());
  EXPECT_EQ(report.at("interrupted"), true);
  EXPECT_FALSE(report.contains("model"));
  EXPECT_EQ(report.at("load").at("loop"), "open");
  EXPECT_EQ(report.at("load").at("connections"), 8);
}

TEST(TextReport, IsForPeople) {
  const std::string text =
      text_report({.url = "http://h", .slo = "ttft=300ms"}, closed_loop(), made_up());
  EXPECT_THAT(text, HasSubstr("chat http://h: closed loop, 1 in flight\n"));
  EXPECT_THAT(text, HasSubstr("3 succeeded, 2 failed; 10.0 s\n"));
  EXPECT_THAT(text, HasSubstr("10.0 of prompt and 4.0 of answer, on average\n"));
  EXPECT_THAT(text, HasSubstr("3.0 tokens/s, 0.75 requests/s, over 4.0 s of full load\n"));
  EXPECT_THAT(text, HasSubstr("0.50 requests/s; 40.0% of requests are within ttft=300ms\n"));
  EXPECT_THAT(text, HasSubstr("\nTTFT              200.000"));
  EXPECT_THAT(text, HasSubstr("40.0% of 5 requests: 1 failed, 1 never sent, 0 interrupted;"));
  EXPECT_THAT(text, HasSubstr("TPOT: 1 requests whose frames hold several tokens"));
  EXPECT_THAT(text, Not(HasSubstr("\nqueue")));
  EXPECT_THAT(text, Not(HasSubstr("\nsend delay")));
  EXPECT_THAT(text, HasSubstr("0.25 s, 5% of a core\n"));
  EXPECT_THAT(text, HasSubstr("failed       1 x overloaded: the queue is full\n"));
}

TEST(TextReport, WarnsOfAClientThatMeasuresItself) {
  RunResult busy = made_up();
  busy.cpu = 4500ms;
  EXPECT_THAT(text_report({}, closed_loop(), busy), HasSubstr("90% of a core: too busy"));
}

TEST(TextReport, SaysWhyNothingWasMeasured) {
  const auto text = [](const Statistics& statistics, bool interrupted) {
    return text_report({}, closed_loop(),
                       {.statistics = statistics, .end = kStart, .interrupted = interrupted});
  };
  EXPECT_THAT(text(Statistics{{}, {}, kStart}, false), HasSubstr("no request was due"));
  Statistics statistics{{.requests = 1}, {}, kStart};
  const Trace trace = statistics.on_sent({.number = 0, .due = kStart}, kStart);
  EXPECT_THAT(text(statistics, false), HasSubstr("all 1 requests that were sent were to"));
  EXPECT_THAT(text(statistics, false), Not(HasSubstr("p99")));
  EXPECT_THAT(text(statistics, true), HasSubstr("was interrupted before an answer"));
  statistics.on_failed(trace, "overloaded", "", kStart);
  EXPECT_THAT(text(statistics, false), HasSubstr("nothing was measured: no request succeeded"));
  EXPECT_THAT(text_report({}, closed_loop(), made_up()), Not(HasSubstr("nothing was measured")));
}

TEST(ProgressLine, TellsTheLastSecond) {
  Statistics statistics{{}, {}, kStart};
  ProgressLine line;
  Trace trace = statistics.on_sent({.number = 0, .due = kStart}, kStart);
  statistics.on_tokens(trace, {0, 30, true}, kStart + 20ns);
  EXPECT_EQ(line.next({.elapsed = 1s, .sent = 1, .in_flight = 1}, statistics),
            "1 s: 1 sent, 1 in flight, 30 tokens/s, TTFT p50 0.0 ms");
  statistics.on_tokens(trace, {0, 10, true}, kStart + 2s);
  statistics.on_failed(trace, "timeout", "", kStart + 2s);
  EXPECT_EQ(line.next({.elapsed = 3s, .sent = 1, .in_flight = 0, .over = true}, statistics),
            "3 s: 1 sent, 0 in flight, 5 tokens/s, TTFT p50 0.0 ms, 1 failed, "
            "waiting for the last");
}

}  // namespace
}  // namespace seedance::loadgen
