// What is good enough for one request.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace seedance::loadgen {

// How long one request took. Without `ttft` it brought no text; without `tpot` it
// brought no token behind its first text.
struct Latency {
  std::optional<Duration> ttft{};
  Duration longest_gap{};  // Between two frames with text.
  std::optional<Duration> tpot{};
  Duration e2e{};
};

// Bounds that a request must keep, each of them if it is there.
struct Slo {
  std::optional<Duration> ttft{};
  std::optional<Duration> itl{};  // For every gap.
  std::optional<Duration> tpot{};
  std::optional<Duration> e2e{};

  // A figure that the request does not have keeps its bound, but for `ttft`.
  bool holds(const Latency& latency) const;

  friend bool operator==(const Slo&, const Slo&) = default;
};

// "ttft=300ms,itl=50ms,tpot=40ms,e2e=10s": one or more of them, each once. Invalid,
// with the item at fault, for everything else.
Result<Slo> parse_slo(std::string_view text);

}  // namespace seedance::loadgen
