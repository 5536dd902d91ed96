#include "load/report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "wire/json.h"

namespace seedance::loadgen {
namespace {

struct Row {
  Figure figure;
  std::string_view key;
  std::string_view title;
};

constexpr std::array kRows{
    Row{Figure::ttft, "ttft_ms", "TTFT"},
    Row{Figure::itl, "itl_ms", "inter-token"},
    Row{Figure::tpot, "tpot_ms", "TPOT"},
    Row{Figure::e2e, "e2e_ms", "end to end"},
    Row{Figure::queue, "queue_ms", "queue"},
    Row{Figure::prefill, "prefill_ms", "prefill"},
    Row{Figure::over_prefill, "over_prefill_ms", "TTFT - prefill"},
    Row{Figure::send_delay, "send_delay_ms", "send delay"},
};
static_assert(kRows.size() == kFigureCount);

constexpr std::array<std::pair<std::string_view, double>, 4> kPercentiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

// A client that is busy for more of the time measures itself.
constexpr double kBusyShareMax = 0.8;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// To the microsecond.
double rounded_ms(Duration duration) {
  return std::round(to_ms(duration) * 1e3) / 1e3;
}

double rounded(double value) {
  return std::round(value * 1e3) / 1e3;
}

// A second, of the window; null where there is none.
void rate(wire::JsonWriter& json, std::string_view key, std::uint64_t count,
          std::optional<Duration> window) {
  json.key(key);
  if (window) {
    json.value(rounded(static_cast<double>(count) / seconds(*window)));
  } else {
    json.null();
  }
}

void counts(wire::JsonWriter& json, const Statistics::Counts& counts) {
  json.begin_object()
      .field("sent", counts.sent)
      .field("succeeded", counts.succeeded)
      .field("failed", counts.failed)
      .end_object();
}

void distribution(wire::JsonWriter& json, const LatencyHistogram& histogram) {
  if (histogram.count() == 0) {
    json.null();
    return;
  }
  json.begin_object().field("count", histogram.count()).field("mean", rounded_ms(histogram.mean()));
  for (const auto& [name, share] : kPercentiles) {
    json.field(name, rounded_ms(histogram.percentile(share)));
  }
  json.field("max", rounded_ms(histogram.max())).end_object();
}

void load_shape(wire::JsonWriter& json, const RunOptions& options) {
  json.begin_object().field("loop", options.shape.open_loop() ? "open" : "closed");
  if (options.shape.open_loop()) {
    json.field("rate", options.shape.rate).field("max_in_flight", options.shape.in_flight_max);
  } else {
    json.field("concurrency", options.shape.concurrency);
  }
  if (is_websocket(options.target.api)) json.field("connections", options.connections);
  json.field("seed", options.seed).end_object();
}

// What failed of all that are measured; those that an interruption left do not count.
double good_share(const Statistics& statistics) {
  const std::uint64_t ended = statistics.measured().succeeded + statistics.measured().failed;
  return ended == 0 ? 0 : static_cast<double>(statistics.good()) / static_cast<double>(ended);
}

std::string shape_line(const ReportHead& head, const RunOptions& options) {
  const std::string shape =
      options.shape.open_loop()
          ? fmt::format("open loop, {} requests/s, at most {} in flight", options.shape.rate,
                        options.shape.in_flight_max)
          : fmt::format("closed loop, {} in flight", options.shape.concurrency);
  return fmt::format("{} {}{}{}: {}{}\n", name(options.target.api), head.url,
                     head.model.empty() ? "" : " ", head.model, shape,
                     is_websocket(options.target.api)
                         ? fmt::format(" on {} connections", options.connections)
                         : "");
}

void rate_lines(std::string& out, const ReportHead& head, const RunResult& result) {
  const Statistics& statistics = result.statistics;
  const auto window = statistics.window(result.end);
  auto to = std::back_inserter(out);
  if (!window) {
    out += "rates        none: the warm-up, or the load, was over at once\n";
    return;
  }
  const double s = seconds(*window);
  fmt::format_to(to,
                 "rates        {:.1f} tokens/s, {:.2f} requests/s, over {:.1f} s of full load\n",
                 static_cast<double>(statistics.window_tokens()) / s,
                 static_cast<double>(statistics.window_done()) / s, s);
  if (head.slo.empty()) return;
  fmt::format_to(to, "goodput      {:.2f} requests/s; {:.1f}% of requests are within {}\n",
                 static_cast<double>(statistics.window_good()) / s, good_share(statistics) * 100,
                 head.slo);
}

// Measured requests whose end to end time is not in the figures, as the worst would be.
struct LeftOut {
  std::uint64_t failed = 0;
  std::uint64_t unsent = 0;
  std::uint64_t interrupted = 0;
  std::uint64_t due = 0;  // With those that succeeded.

  explicit LeftOut(const Statistics& statistics) {
    const Statistics::Counts& measured = statistics.measured();
    unsent = statistics.unsent();
    failed = measured.failed - unsent;
    interrupted = measured.sent - std::min(measured.sent, measured.succeeded + failed);
    due = measured.sent + unsent;
  }

  double share() const {
    const auto out = static_cast<double>(failed + unsent + interrupted);
    return due == 0 ? 0 : out / static_cast<double>(due);
  }
};

void left_out_lines(std::string& out, const Statistics& statistics) {
  const LeftOut left{statistics};
  auto to = std::back_inserter(out);
  if (left.share() > 0) {
    fmt::format_to(
        to,
        "left out       {:.1f}% of {} requests: {} failed, {} never sent, {} interrupted; "
        "with them these figures would be worse\n",
        left.share() * 100, left.due, left.failed, left.unsent, left.interrupted);
  }
  if (statistics.without_tpot() > 0) {
    fmt::format_to(to,
                   "               TPOT: {} requests whose frames hold several tokens, who knows "
                   "how many the first\n",
                   statistics.without_tpot());
  }
}

// Why there are no latencies, and what would give some.
std::string nothing_measured(const RunResult& result) {
  const Statistics& statistics = result.statistics;
  if (statistics.measured().failed + statistics.warmup().failed > 0) {
    return "nothing was measured: no request succeeded";
  }
  if (result.interrupted) return "nothing was measured: the run was interrupted before an answer";
  if (statistics.warmup().sent == 0) {
    return "nothing was measured: no request was due before the end; give a longer --duration or a "
           "higher --rate";
  }
  return fmt::format(
      "nothing was measured: all {} requests that were sent were to warm up; give a longer "
      "--duration, more --requests or a shorter --warmup",
      statistics.warmup().sent);
}

void latency_lines(std::string& out, const RunOptions& options, const RunResult& result) {
  const Statistics& statistics = result.statistics;
  if (statistics.measured().succeeded == 0) {
    out += "\n" + nothing_measured(result) + "\n";
    return left_out_lines(out, statistics);
  }
  fmt::format_to(std::back_inserter(out),
                 "\n{:<15}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}  ms{:>12}\n", "", "mean", "p50",
                 "p90", "p99", "p99.9", "max", "of");
  for (const Row& row : kRows) {
    const LatencyHistogram& histogram = statistics.of(row.figure);
    if (histogram.count() == 0) continue;
    // In the closed loop a request is due when it is sent.
    if (row.figure == Figure::send_delay && !options.shape.open_loop()) continue;
    fmt::format_to(std::back_inserter(out), "{:<15}{:>10.3f}", row.title, to_ms(histogram.mean()));
    for (const auto& [name, share] : kPercentiles) {
      fmt::format_to(std::back_inserter(out), "{:>10.3f}", to_ms(histogram.percentile(share)));
    }
    fmt::format_to(std::back_inserter(out), "{:>10.3f}{:>16}\n", to_ms(histogram.max()),
                   histogram.count());
  }
  left_out_lines(out, statistics);
}

}  // namespace

std::string text_report(const ReportHead& head, const RunOptions& options,
                        const RunResult& result) {
  const Statistics& statistics = result.statistics;
  const Statistics::Counts& measured = statistics.measured();
  const std::uint64_t unfinished =
      measured.sent - std::min(measured.sent, measured.succeeded + measured.failed);
  std::string out = shape_line(head, options);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "requests     {} succeeded, {} failed", measured.succeeded, measured.failed);
  if (unfinished > 0) fmt::format_to(to, ", {} were interrupted", unfinished);
  if (statistics.warmup().sent > 0) {
    fmt::format_to(to, "; {} more to warm up", statistics.warmup().sent);
  }
  fmt::format_to(to, "; {:.1f} s\n", seconds(result.elapsed));
  if (measured.succeeded > 0) {
    const auto mean = [&](std::uint64_t total) {
      return static_cast<double>(total) / static_cast<double>(measured.succeeded);
    };
    fmt::format_to(to, "tokens       {:.1f} of prompt and {:.1f} of answer, on average\n",
                   mean(statistics.prompt_tokens()), mean(statistics.answer_tokens()));
  }
  rate_lines(out, head, result);
  latency_lines(out, options, result);
  const double busy =
      result.cpu_over > Duration{} ? seconds(result.cpu) / seconds(result.cpu_over) : 0;
  fmt::format_to(to, "\nclient CPU   {:.2f} s, {:.0f}% of a core{}\n", seconds(result.cpu),
                 busy * 100,
                 busy > kBusyShareMax ? ": too busy, its own delays are in these figures" : "");
  for (const auto& [code, failures] : statistics.failures()) {
    fmt::format_to(to, "failed       {} x {}{}{}\n", failures.count, code,
                   failures.first.empty() ? "" : ": ", failures.first);
  }
  return out;
}

std::string json_report(const ReportHead& head, const RunOptions& options,
                        const RunResult& result) {
  const Statistics& statistics = result.statistics;
  const auto window = statistics.window(result.end);
  std::string out;
  wire::JsonWriter json{out};
  json.begin_object().field("url", head.url).field("api", name(options.target.api));
  if (!head.model.empty()) json.field("model", head.model);
  json.key("load");
  load_shape(json, options);
  json.field("interrupted", result.interrupted)
      .field("elapsed_s", rounded(seconds(result.elapsed)));
  json.key("requests");
  counts(json, statistics.measured());
  json.key("warmup");
  counts(json, statistics.warmup());
  json.key("errors").begin_object();
  for (const auto& [code, failures] : statistics.failures()) json.field(code, failures.count);
  json.end_object().key("error_messages").begin_object();
  for (const auto& [code, failures] : statistics.failures()) json.field(code, failures.first);
  json.end_object();
  json.field("window_s", window ? rounded(seconds(*window)) : 0);
  rate(json, "tokens_per_s", statistics.window_tokens(), window);
  rate(json, "requests_per_s", statistics.window_done(), window);
  json.field("prompt_tokens", statistics.prompt_tokens())
      .field("answer_tokens", statistics.answer_tokens());
  json.key("goodput");
  if (head.slo.empty()) {
    json.null();
  } else {
    json.begin_object().field("slo", head.slo).field("share", rounded(good_share(statistics)));
    rate(json, "requests_per_s", statistics.window_good(), window);
    json.end_object();
  }
  const LeftOut left{statistics};
  json.key("left_out")
      .begin_object()
      .field("share", rounded(left.share()))
      .field("failed", left.failed)
      .field("not_sent", left.unsent)
      .field("interrupted", left.interrupted)
      .field("without_tpot", statistics.without_tpot())
      .end_object();
  for (const Row& row : kRows) {
    json.key(row.key);
    distribution(json, statistics.of(row.figure));
  }
  json.field("client_cpu_s", rounded(seconds(result.cpu)))
      .field("client_cpu_over_s", rounded(seconds(result.cpu_over)))
      .end_object();
  return out;
}

std::string ProgressLine::next(const Progress& progress, const Statistics& statistics) {
  const double s = seconds(progress.elapsed - std::exchange(elapsed_, progress.elapsed));
  const std::uint64_t tokens = statistics.tokens() - std::exchange(tokens_, statistics.tokens());
  std::string out = fmt::format(
      "{:.0f} s: {} sent, {} in flight, {:.0f} tokens/s, TTFT p50 {:.1f} ms", seconds(elapsed_),
      progress.sent, progress.in_flight, s > 0 ? static_cast<double>(tokens) / s : 0,
      to_ms(statistics.of(Figure::ttft).percentile(0.5)));
  const std::uint64_t failed = statistics.measured().failed + statistics.warmup().failed;
  if (failed > 0) out += fmt::format(", {} failed", failed);
  if (progress.over) out += ", waiting for the last";
  return out;
}

}  // namespace seedance::loadgen
