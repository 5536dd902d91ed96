#include "sched/prefill_budget.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace seedance::sched {
namespace {

// The share of the newest step in an average, and how many times the average it may be: the
// machine may have slept.
constexpr double kNewest = 0.25;
constexpr double kOutlier = 4;

// So many steps with prompts, and one has to be without.
constexpr std::uint32_t kMixedStepsMax = 32;

// What each step on time adds to the long ones that may follow, how many these are at most, and
// how much longer than it should a step is that is one of them.
constexpr double kLongStepShare = 1.0 / 128;
constexpr double kLongStepsMax = 4;
constexpr double kLong = 1.25;

void average(double& known, double newest) {
  known = known == 0 ? newest : known + (kNewest * (std::min(newest, kOutlier * known) - known));
}

double ns(Duration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace

// Where more wait than decode, so many times as much of a step is theirs.
std::uint32_t PrefillBudget::tokens(std::uint32_t decoding, std::uint32_t waiting) const {
  const auto& [decode, mixed_steps] = decoding_[bucket(decoding)];
  if (token_ns_ == 0) return limits_.tokens_first;
  if (decoding > 0 && (decode == 0 || mixed_steps >= kMixedStepsMax)) return 0;
  const double share = waiting > decoding ? waiting / std::max(decoding, 1U) : 1;
  const double most = decode + ns(limits_.step_max);
  const bool may_be_long = decoding == 0 || long_steps_ >= 1;
  const double step = may_be_long ? most : std::min(fair_ns(decode) * share, most);
  constexpr double kAll = std::numeric_limits<std::uint32_t>::max();
  const double tokens = std::clamp((step - decode) / token_ns_, 0.0, kAll);
  return std::max(limits_.tokens_min, static_cast<std::uint32_t>(tokens));
}

void PrefillBudget::on_step(std::uint32_t decoding, std::uint32_t prompt_tokens, Duration took) {
  Decoding& alone = decoding_[bucket(decoding)];
  if (decoding > 0) {
    long_steps_ += ns(took) > kLong * fair_ns(alone.ns) ? -1 : kLongStepShare;
    long_steps_ = std::clamp(long_steps_, 0.0, kLongStepsMax);
  }
  if (prompt_tokens == 0) {
    average(alone.ns, ns(took));
    alone.mixed_steps = 0;
    return;
  }
  ++alone.mixed_steps;
  // A step of little more than decoding says little of its prompt.
  const double least = token_ns_ / kOutlier;
  average(token_ns_, std::max((ns(took) - alone.ns) / prompt_tokens, least));
}

double PrefillBudget::fair_ns(double decode_ns) const {
  return std::max(ns(limits_.step_target), limits_.stretch * decode_ns);
}

std::size_t PrefillBudget::bucket(std::uint32_t decoding) {
  return static_cast<std::size_t>(std::bit_width(decoding));
}

}  // namespace seedance::sched
