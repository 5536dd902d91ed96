// Counters, gauges and histograms, and their Prometheus text form.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace seedance::observe {

// Each has one writing thread at a time; any thread may read. A reader may see
// one metric a moment before another.
class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.store(value() + count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A counter that several threads add to.
class SharedCounter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  void subtract(std::uint64_t count = 1) { value_.fetch_sub(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Upper bounds, in seconds, of the buckets of every latency histogram: from
// 0.1 ms by factors of about 2 to 2 minutes.
inline constexpr std::array<double, 20> kLatencyBounds{
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25,   0.5,     1,      2.5,   5,      10,    20,   30,    60,   120};

class Histogram {
 public:
  void observe(double seconds, std::uint64_t times = 1);

  std::uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  std::uint64_t bucket(std::size_t index) const {
    return buckets_.at(index).load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kLatencyBounds.size() + 1> buckets_{};
  std::atomic<double> sum_{0};
};

// Prometheus text exposition format, version 0.0.4. Each call appends a family
// of one metric with its HELP and TYPE lines.
void append_counter(std::string& out, std::string_view name, std::string_view help,
                    std::uint64_t value);
void append_gauge(std::string& out, std::string_view name, std::string_view help, double value);
void append_histogram(std::string& out, std::string_view name, std::string_view help,
                      const Histogram& histogram);

// The same in pieces, for families with labels: a header, then its samples.
void append_family(std::string& out, std::string_view name, std::string_view help,
                   std::string_view type);
struct Label {
  std::string_view name;
  std::string_view value;
};
void append_sample(std::string& out, std::string_view name, std::span<const Label> labels,
                   double value);
void append_histogram_samples(std::string& out, std::string_view name, Label label,
                              const Histogram& histogram);

}  // namespace seedance::observe
