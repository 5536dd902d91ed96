// What one load run measured, and its JSON form.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol.h"

namespace seedance::bench {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// Collects a run of `streams` closed loops. The steady window lasts from the end of as many
// requests as there are streams until the last request is issued: streams that run in step are
// cut at the same phase of their round at both ends. Rates and gaps count inside the window;
// waits for the first token count for all but the first request of each stream.
class Report {
 public:
  Report(std::uint64_t streams, std::uint64_t requests) : streams_(streams), requests_(requests) {}

  void on_issued(Time now);
  // The first tokens of a request issued at `issued`, the `round`-th of its stream from 0.
  void on_first_tokens(std::uint64_t count, std::uint64_t round, Time issued, Time now);
  // Later tokens; the frame before came at `last`.
  void on_tokens(std::uint64_t count, Time last, Time now);
  void on_finished(const Finished& finished, std::uint64_t counted, Time issued, Time first,
                   Time now);
  void on_failed(std::string why);

  bool wants_request() const { return issued_ < requests_; }
  bool over() const { return finished_ + failed_ >= requests_; }

  std::string json() const;

 private:
  bool steady() const { return finished_ >= streams_ && issued_ < requests_; }
  void count_tokens(std::uint64_t count);

  std::uint64_t streams_;
  std::uint64_t requests_;
  std::uint64_t issued_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t tokens_ = 0;
  std::uint64_t window_tokens_ = 0;
  std::uint64_t frames_ = 0;
  Time window_begin_;
  Time window_end_;
  std::string error_;
  std::vector<double> ttft_ms_;
  std::vector<double> gap_ms_;
  std::vector<double> server_ttft_ms_;
  std::vector<double> prefill_ms_;
  std::vector<double> queue_ms_;
  std::vector<double> over_prefill_ms_;  // The client's wait less the server's prefill.
};

}  // namespace seedance::bench
