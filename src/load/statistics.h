// What a load run measured.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "load/connection.h"
#include "load/latency_histogram.h"
#include "load/schedule.h"
#include "load/slo.h"

namespace seedance::loadgen {

// The figures that are distributions; docs/benchmarking.md defines them.
enum class Figure : std::uint8_t { ttft, itl, tpot, e2e, queue, prefill, over_prefill, send_delay };
inline constexpr std::size_t kFigureCount = 8;

// What is known of one request while it runs.
struct Trace {
  Schedule::Send send;
  std::uint64_t tokens = 0;
  std::uint64_t first_tokens = 0;    // Up to the first text and with it.
  std::optional<TimePoint> first{};  // Text.
  TimePoint last;                    // Text, once there is a first.
  Duration longest_gap{};
};

// Turns what happens to requests into figures. Latencies are those of the measured
// requests: all but the warm-up's. Rates are those of the window: from the end of the
// warm-up until the load is not full any more. Knows no clock.
class Statistics {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
  };
  struct Failures {
    std::uint64_t count = 0;
    std::string first;  // What the server said of the first one.
  };

  Statistics(const Warmup& warmup, const Slo& slo, TimePoint start);

  // The window ends here, unless it has ended. Calls with later times than it is
  // known to end may come before; none before an earlier one.
  void end_window(TimePoint at);

  // Times are counted from when the request was due.
  Trace on_sent(const Schedule::Send& send, TimePoint now);
  void on_tokens(Trace& trace, const Tokens& tokens, TimePoint now);
  void on_done(Trace& trace, const Answer& answer, TimePoint now);
  void on_failed(const Trace& trace, std::string_view code, std::string_view why, TimePoint now);
  // Requests that were due and were never sent.
  void on_unsent(std::uint64_t count);

  const LatencyHistogram& of(Figure figure) const {
    return histograms_.at(static_cast<std::size_t>(figure));
  }
  const Counts& measured() const { return measured_; }
  const Counts& warmup() const { return warmup_counts_; }
  const std::map<std::string, Failures, std::less<>>& failures() const { return failures_; }
  std::uint64_t tokens() const { return tokens_; }  // Of all requests.
  // Of measured ones that succeeded.
  std::uint64_t prompt_tokens() const { return prompt_tokens_; }
  std::uint64_t answer_tokens() const { return answer_tokens_; }
  // Of those, without a TPOT: it is not known how many tokens came first.
  std::uint64_t without_tpot() const { return without_tpot_; }
  // Measured ones that were due and never sent; they count as failed.
  std::uint64_t unsent() const { return unsent_; }
  std::uint64_t good() const { return good_; }  // Measured, succeeded, and within the SLO.

  bool in_window(TimePoint now) const;
  // The window, as far as it goes; nothing when it is empty.
  std::optional<Duration> window(TimePoint now) const;
  std::uint64_t window_tokens() const { return window_tokens_; }
  std::uint64_t window_done() const { return window_done_; }
  std::uint64_t window_good() const { return window_good_; }

 private:
  bool is_measured(const Schedule::Send& send) const;
  void on_end(const Schedule::Send& send, TimePoint now);
  void add(Figure figure, Duration value);
  void count_tokens(std::uint64_t count, TimePoint now);

  Warmup warmup_;
  Slo slo_;
  TimePoint window_begin_;  // kNever while requests of the warm-up run.
  TimePoint window_end_ = kNever;
  TimePoint measured_from_;
  std::uint64_t warmup_ended_ = 0;
  Counts measured_;
  Counts warmup_counts_;
  std::map<std::string, Failures, std::less<>> failures_;
  std::array<LatencyHistogram, kFigureCount> histograms_;
  std::uint64_t tokens_ = 0;
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t answer_tokens_ = 0;
  std::uint64_t without_tpot_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t window_tokens_ = 0;
  std::uint64_t window_done_ = 0;
  std::uint64_t window_good_ = 0;
};

}  // namespace seedance::loadgen
