#include "sched/prefill_budget.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace seedance::sched {
namespace {

// The share of the newest step in an average.
constexpr double kNewest = 0.25;

void average(double& known, double newest) {
  known = known == 0 ? newest : known + (kNewest * (newest - known));
}

double ns(Duration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace

// Where more wait than decode, so many times as much of a step is theirs.
std::uint32_t PrefillBudget::tokens(std::uint32_t decoding, std::uint32_t waiting) const {
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  if (token_ns_ == 0) return limits_.tokens_first;
  const double decode = decode_ns(decoding);
  const double fair = std::max(ns(limits_.step_target), limits_.stretch * decode);
  const double share = waiting > decoding ? waiting / std::max(decoding, 1U) : 1;
  const double most = std::max(ns(limits_.step_max), fair);
  const double step = decoding == 0 ? most : std::min(fair * share, most);
  const double tokens = std::clamp((step - decode) / token_ns_, 0.0, double{kAll});
  return std::max(limits_.tokens_min, static_cast<std::uint32_t>(tokens));
}

void PrefillBudget::on_step(std::uint32_t decoding, std::uint32_t prompt_tokens, Duration took) {
  if (prompt_tokens == 0) {
    average(decode_ns_[bucket(decoding)], ns(took));
    return;
  }
  // A step of little more than decoding says little of its prompt.
  const double least = token_ns_ / 4;
  average(token_ns_, std::max((ns(took) - decode_ns(decoding)) / prompt_tokens, least));
}

std::size_t PrefillBudget::bucket(std::uint32_t decoding) {
  return static_cast<std::size_t>(std::bit_width(decoding));
}

// Where it is not known for so many: what it is for the next fewer.
double PrefillBudget::decode_ns(std::uint32_t decoding) const {
  for (std::size_t at = bucket(decoding); at > 0; --at) {
    if (decode_ns_[at] != 0) return decode_ns_[at];
  }
  return 0;
}

}  // namespace seedance::sched
