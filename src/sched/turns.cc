#include "sched/turns.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace seedance::sched {

Turns::Turn Turns::next(std::span<const Claim> claims) const {
  SEEDANCE_CHECK(!claims.empty(), "somebody has something to do");
  const auto last = [this](const Claim& claim) { return taken_at(claim.adapter); };
  const Claim& due = *std::ranges::min_element(claims, {}, last);
  const Claim* first = &due;
  for (const Claim& claim : claims) {
    if (ahead_ || !claim.highest_prompt || *claim.highest_prompt >= due.highest) continue;
    const auto order = [&](const Claim& one) { return std::pair{*one.highest_prompt, last(one)}; };
    if (first == &due || order(claim) < order(*first)) first = &claim;
  }
  return {.adapter = first->adapter, .ahead = first != &due};
}

void Turns::on_taken(Turn turn) {
  if (turn.adapter >= taken_at_.size()) taken_at_.resize(turn.adapter + 1);
  taken_at_[turn.adapter] = ++steps_;
  ahead_ = turn.ahead;
}

std::uint64_t Turns::taken_at(std::uint32_t adapter) const {
  return adapter < taken_at_.size() ? taken_at_[adapter] : 0;
}

}  // namespace seedance::sched
