#include "observe/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace seedance::observe {
namespace {

void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// `label` and what may stand beside it: `name="value",`, or nothing.
void append_buckets(std::string& out, std::string_view name, const std::string& label,
                    const Histogram& histogram) {
  // One pass, so that +Inf and the count agree although the writer goes on.
  std::uint64_t total = 0;
  const auto append_bucket = [&](std::string_view bound) {
    fmt::format_to(std::back_inserter(out), "{}_bucket{{{}le=\"{}\"}} {}\n", name, label, bound,
                   total);
  };
  for (std::size_t i = 0; i < kLatencyBounds.size(); ++i) {
    total += histogram.bucket(i);
    append_bucket(fmt::to_string(kLatencyBounds.at(i)));
  }
  total += histogram.bucket(kLatencyBounds.size());
  append_bucket("+Inf");
  const std::string alone =
      label.empty() ? "" : fmt::format("{{{}}}", label.substr(0, label.size() - 1));
  fmt::format_to(std::back_inserter(out), "{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, alone,
                 histogram.sum(), total);
}

}  // namespace

void Histogram::observe(double seconds, std::uint64_t times) {
  const auto bucket = std::ranges::lower_bound(kLatencyBounds, seconds) - kLatencyBounds.begin();
  auto& count = buckets_.at(static_cast<std::size_t>(bucket));
  count.store(count.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
  sum_.store(sum() + (seconds * static_cast<double>(times)), std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  std::uint64_t total = 0;
  for (const auto& bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
  return total;
}

void append_family(std::string& out, std::string_view name, std::string_view help,
                   std::string_view type) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void append_sample(std::string& out, std::string_view name, std::span<const Label> labels,
                   double value) {
  out += name;
  char separator = '{';
  for (const Label& label : labels) {
    out += separator;
    out += label.name;
    out += "=\"";
    append_escaped(out, label.value);
    out += '"';
    separator = ',';
  }
  if (!labels.empty()) out += '}';
  fmt::format_to(std::back_inserter(out), " {}\n", value);
}

void append_counter(std::string& out, std::string_view name, std::string_view help,
                    std::uint64_t value) {
  append_family(out, name, help, "counter");
  append_sample(out, name, {}, static_cast<double>(value));
}

void append_gauge(std::string& out, std::string_view name, std::string_view help, double value) {
  append_family(out, name, help, "gauge");
  append_sample(out, name, {}, value);
}

void append_histogram(std::string& out, std::string_view name, std::string_view help,
                      const Histogram& histogram) {
  append_family(out, name, help, "histogram");
  append_buckets(out, name, "", histogram);
}

void append_histogram_samples(std::string& out, std::string_view name, Label label,
                              const Histogram& histogram) {
  std::string text;
  text += label.name;
  text += "=\"";
  append_escaped(text, label.value);
  text += "\",";
  append_buckets(out, name, text, histogram);
}

}  // namespace seedance::observe
