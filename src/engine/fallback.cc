#include "engine/fallback.h"

#include <utility>

namespace seedance::engine {
namespace {

constexpr std::uint32_t kLoadDeaths = 2;
constexpr std::uint32_t kRunDeaths = 3;

// So many such ends in a row are the settings' fault; 0 = however many.
std::uint32_t patience_with(EndCause cause, bool loading) {
  switch (cause) {
    case EndCause::out_of_memory:
      return 1;
    case EndCause::aborted:
      return loading ? 1 : kRunDeaths;
    case EndCause::killed:
    case EndCause::hung:
      return loading ? kLoadDeaths : kRunDeaths;
    case EndCause::refused:
    case EndCause::other:
      return 0;
  }
  return 0;
}

}  // namespace

void Fallback::on_ready() {
  loading_ = false;
  load_deaths_ = 0;
}

Fallback::Move Fallback::on_end(EndCause cause) {
  const bool loading = std::exchange(loading_, true);
  const std::uint32_t patience = patience_with(cause, loading);
  if (patience == 0) return Move::stay;
  const std::uint32_t deaths = loading ? ++load_deaths_ : ++run_deaths_;
  const bool last = rung_ == rungs_;
  if (deaths < (last && !loading ? given_up_after_ : patience)) return Move::stay;
  if (rungs_ == 0) return Move::stay;
  load_deaths_ = run_deaths_ = 0;
  rung_ = last ? 0 : rung_ + 1;
  if (!last) return Move::down;
  return loading ? Move::spent : Move::back;
}

}  // namespace seedance::engine
