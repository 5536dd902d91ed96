#include "load/statistics.h"

#include <algorithm>

namespace seedance::loadgen {
namespace {

// That end an answer and are in no frame with text: of the end of the text itself.
constexpr std::uint64_t kSilentTokensMax = 1;

}  // namespace

Statistics::Statistics(const Warmup& warmup, const Slo& slo, TimePoint start)
    : warmup_(warmup),
      slo_(slo),
      window_begin_(warmup.requests > 0 ? kNever : start + warmup.time),
      measured_from_(start + warmup.time) {}

bool Statistics::is_measured(const Schedule::Send& send) const {
  return send.number >= warmup_.requests && send.due >= measured_from_;
}

bool Statistics::in_window(TimePoint now) const {
  return now >= window_begin_ && now <= window_end_;
}

void Statistics::end_window(TimePoint at) {
  window_end_ = std::min(window_end_, at);
}

std::optional<Duration> Statistics::window(TimePoint now) const {
  const TimePoint end = std::min(window_end_, now);
  if (end <= window_begin_) return std::nullopt;
  return end - window_begin_;
}

void Statistics::add(Figure figure, Duration value) {
  histograms_.at(static_cast<std::size_t>(figure)).add(value);
}

void Statistics::count_tokens(std::uint64_t count, TimePoint now) {
  tokens_ += count;
  if (in_window(now)) window_tokens_ += count;
}

Trace Statistics::on_sent(const Schedule::Send& send, TimePoint now) {
  if (is_measured(send)) {
    ++measured_.sent;
    add(Figure::send_delay, now - send.due);
  } else {
    ++warmup_counts_.sent;
  }
  return {.send = send};
}

void Statistics::on_tokens(Trace& trace, const Tokens& tokens, TimePoint now) {
  count_tokens(tokens.count, now);
  trace.tokens += tokens.count;
  if (!trace.first) trace.first_tokens = trace.tokens;
  if (!tokens.visible) return;
  const bool measured = is_measured(trace.send);
  if (trace.first) {
    const Duration gap = now - trace.last;
    trace.longest_gap = std::max(trace.longest_gap, gap);
    if (measured) add(Figure::itl, gap);
  } else {
    trace.first = now;
    if (measured) add(Figure::ttft, now - trace.send.due);
  }
  trace.last = now;
}

void Statistics::on_done(Trace& trace, const Answer& answer, TimePoint now) {
  const std::uint64_t tokens = std::max(answer.tokens.value_or(0), trace.tokens);
  // With more, some frames hold several, and who knows how many the first one.
  const bool counted = tokens <= trace.tokens + kSilentTokensMax;
  const std::uint64_t later = trace.tokens - std::min(trace.tokens, trace.first_tokens);
  count_tokens(tokens - trace.tokens, now);
  trace.tokens = tokens;
  Latency latency{.longest_gap = trace.longest_gap, .e2e = now - trace.send.due};
  if (trace.first) latency.ttft = *trace.first - trace.send.due;
  if (counted && trace.first && later > 0 && trace.last > *trace.first) {
    latency.tpot = (trace.last - *trace.first) / static_cast<std::int64_t>(later);
  }
  const bool good = slo_.holds(latency);
  if (in_window(now)) {
    ++window_done_;
    if (good) ++window_good_;
  }
  on_end(trace.send, now);
  if (!is_measured(trace.send)) {
    ++warmup_counts_.succeeded;
    return;
  }
  ++measured_.succeeded;
  if (good) ++good_;
  prompt_tokens_ += answer.prompt_tokens;
  answer_tokens_ += tokens;
  add(Figure::e2e, latency.e2e);
  if (latency.tpot) add(Figure::tpot, *latency.tpot);
  if (!counted) ++without_tpot_;
  if (answer.queue) add(Figure::queue, *answer.queue);
  if (!answer.prefill) return;
  add(Figure::prefill, *answer.prefill);
  if (latency.ttft) add(Figure::over_prefill, *latency.ttft - *answer.prefill);
}

void Statistics::on_failed(const Trace& trace, std::string_view code, std::string_view why,
                           TimePoint now) {
  on_end(trace.send, now);
  ++(is_measured(trace.send) ? measured_ : warmup_counts_).failed;
  Failures& failures = failures_.try_emplace(std::string{code}).first->second;
  if (failures.count++ == 0) failures.first = why;
}

void Statistics::on_unsent(std::uint64_t count) {
  if (count == 0) return;
  unsent_ += count;
  measured_.failed += count;
  Failures& failures = failures_.try_emplace(std::string{kNotSent}).first->second;
  failures.count += count;
  failures.first = "they were due before the end, and waited for others to end";
}

void Statistics::on_end(const Schedule::Send& send, TimePoint now) {
  if (send.number < warmup_.requests && ++warmup_ended_ == warmup_.requests) window_begin_ = now;
}

}  // namespace seedance::loadgen
