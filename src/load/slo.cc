#include "load/slo.h"

#include <fmt/format.h>

#include <algorithm>

#include "load/duration.h"

namespace seedance::loadgen {
namespace {

std::optional<Duration>* bound_named(Slo& slo, std::string_view name) {
  if (name == "ttft") return &slo.ttft;
  if (name == "itl") return &slo.itl;
  if (name == "tpot") return &slo.tpot;
  return name == "e2e" ? &slo.e2e : nullptr;
}

}  // namespace

bool Slo::holds(const Latency& latency) const {
  return (!ttft || (latency.ttft && *latency.ttft <= *ttft)) &&
         (!itl || latency.longest_gap <= *itl) &&
         (!tpot || !latency.tpot || *latency.tpot <= *tpot) && (!e2e || latency.e2e <= *e2e);
}

Result<Slo> parse_slo(std::string_view text) {
  Slo slo;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = std::min(item.find('='), item.size());
    std::optional<Duration>* const bound = bound_named(slo, item.substr(0, equals));
    if (bound == nullptr || equals == item.size() || *bound) {
      return fail(Errc::invalid,
                  fmt::format("'{}': expected ttft, itl, tpot or e2e, each at most once, and a "
                              "time, as in ttft=300ms,itl=50ms",
                              item));
    }
    const auto time = parse_duration(item.substr(equals + 1));
    if (!time) return std::unexpected(time.error());
    *bound = *time;
  }
  return slo;
}

}  // namespace seedance::loadgen
