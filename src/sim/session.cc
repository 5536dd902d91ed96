#include "sim/session.h"

#include <algorithm>
#include <array>

namespace seedance::sim {

std::optional<Canary> parse_canary(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames{
      "none",       "shown_early",  "resume_behind", "detach_cancels",
      "any_tenant", "keys_dropped", "end_untold",    "wakes_dropped"};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Canary>(found - kNames.begin());
}

void WakeCheck::on_core_turn(bool news, TimePoint now) {
  if (!news) {
    news_at_ = kNever;
  } else if (news_at_ == kNever) {
    news_at_ = now;
  }
}

Offset begin_of(Canary canary, Offset from, const stream::TokenLog& log) {
  const bool behind = canary == Canary::resume_behind && from > Offset{0} && from < log.head().end;
  return behind ? from + 1 : from;
}

}  // namespace seedance::sim
