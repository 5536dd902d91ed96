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

// So many steps lie between two pauses at least.
constexpr std::uint32_t kStepsBetweenPauses = 128;

// Prompts that fit into so many steps are not worth one.
constexpr std::uint32_t kStepsWithoutPause = 2;

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
  if (decoding == 0) return tokens_in(ns(limits_.step_max));
  if (decode == 0 || mixed_steps >= kMixedStepsMax) return 0;
  const double share = waiting > decoding ? waiting / decoding : 1;
  const double fair = std::max(ns(limits_.step_target), limits_.stretch * decode);
  return tokens_in(std::min((fair * share) - decode, ns(limits_.step_max)));
}

// A pause that goes on is not left for one more step with all.
bool PrefillBudget::pauses(std::uint32_t decoding, std::uint32_t waiting,
                           std::uint32_t wanted) const {
  const std::uint32_t fair = tokens(decoding, waiting);
  if (decoding == 0 || token_ns_ == 0 || fair == 0 || paused_ >= limits_.pause_max) return false;
  if (paused_ > Duration::zero()) return wanted > fair;
  return steps_to_pause_ == 0 && wanted / kStepsWithoutPause > fair;
}

std::uint32_t PrefillBudget::pause_tokens() const {
  return tokens_in(ns(std::min(limits_.step_max, limits_.pause_max - paused_)));
}

void PrefillBudget::on_step(std::uint32_t decoding, std::uint32_t prompt_tokens, Duration took) {
  if (decoding > 0) count_step();
  paused_ = {};
  Decoding& alone = decoding_[bucket(decoding)];
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

void PrefillBudget::on_pause(std::uint32_t prompt_tokens, Duration took) {
  paused_ += took;
  average(token_ns_, ns(took) / prompt_tokens);
}

void PrefillBudget::on_guessing() {
  count_step();
  paused_ = {};
}

// Of those who decode: it may be the first behind a pause.
void PrefillBudget::count_step() {
  if (paused_ > Duration::zero()) steps_to_pause_ = kStepsBetweenPauses;
  if (steps_to_pause_ > 0) --steps_to_pause_;
}

std::uint32_t PrefillBudget::tokens_in(double ns) const {
  constexpr double kAll = std::numeric_limits<std::uint32_t>::max();
  const double tokens = std::clamp(ns / token_ns_, 0.0, kAll);
  return std::max(limits_.tokens_min, static_cast<std::uint32_t>(tokens));
}

std::size_t PrefillBudget::bucket(std::uint32_t decoding) {
  return static_cast<std::size_t>(std::bit_width(decoding));
}

}  // namespace seedance::sched
