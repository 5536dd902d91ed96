#include "report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace seedance::bench {
namespace {

double ms(Clock::duration span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

// Nearest-rank percentile.
std::string percentile(std::vector<double> values, double share) {
  if (values.empty()) return "null";
  const auto rank =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(rank));
  return fmt::format("{:.3f}", values[rank]);
}

std::string percentiles(const std::vector<double>& values) {
  return fmt::format("{{\"p50\":{},\"p99\":{},\"count\":{}}}", percentile(values, 0.5),
                     percentile(values, 0.99), values.size());
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 300)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Report::on_issued(Time now) {
  if (++issued_ == requests_) window_end_ = now;
}

void Report::count_tokens(std::uint64_t count) {
  tokens_ += count;
  if (steady()) window_tokens_ += count;
}

void Report::on_first_tokens(std::uint64_t count, std::uint64_t round, Time issued, Time now) {
  ++frames_;
  count_tokens(count);
  if (round > 0) ttft_ms_.push_back(ms(now - issued));
}

void Report::on_tokens(std::uint64_t count, Time last, Time now) {
  ++frames_;
  count_tokens(count);
  if (steady()) gap_ms_.push_back(ms(now - last));
}

void Report::on_finished(const Finished& finished, std::uint64_t counted, Time issued, Time first,
                         Time now) {
  if (finished.tokens > counted) count_tokens(finished.tokens - counted);
  if (finished.timing.prefill_ms >= 0 && finished_ >= streams_) {
    server_ttft_ms_.push_back(finished.timing.ttft_ms);
    prefill_ms_.push_back(finished.timing.prefill_ms);
    queue_ms_.push_back(finished.timing.queue_ms);
    over_prefill_ms_.push_back(ms(first - issued) - finished.timing.prefill_ms);
  }
  if (++finished_ == streams_) window_begin_ = now;
}

void Report::on_failed(std::string why) {
  if (failed_++ == 0) error_ = std::move(why);
}

std::string Report::json() const {
  const double window_s = std::max(0.0, ms(window_end_ - window_begin_) / 1000);
  const double rate = window_s > 0 ? static_cast<double>(window_tokens_) / window_s : 0;
  return fmt::format(
      "{{\"streams\":{},\"requests\":{},\"errors\":{},\"error\":{},\"tokens\":{},\"frames\":{},"
      "\"window_s\":{:.3f},\"tokens_per_s\":{:.1f},\"ttft_ms\":{},\"itl_ms\":{},"
      "\"server_ttft_ms\":{},\"server_prefill_ms\":{},\"server_queue_ms\":{},"
      "\"ttft_over_prefill_ms\":{},\"client_cpu_s\":{:.3f}}}",
      streams_, requests_, failed_, failed_ > 0 ? quoted(error_) : "null", tokens_, frames_,
      window_s, rate, percentiles(ttft_ms_), percentiles(gap_ms_), percentiles(server_ttft_ms_),
      percentiles(prefill_ms_), percentiles(queue_ms_), percentiles(over_prefill_ms_),
      cpu_seconds());
}

}  // namespace seedance::bench
