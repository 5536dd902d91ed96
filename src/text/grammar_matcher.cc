#include "text/grammar_matcher.h"

#include <algorithm>
#include <utility>

namespace seedance::text {
namespace {

using Kind = GrammarElement::Kind;

std::uint64_t key_of(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32U | low;
}

}  // namespace

GrammarMatcher::GrammarMatcher(Grammar grammar) : grammar_(std::move(grammar)) {
  number(Places{});  // The dead state is 0.
  Places begin;
  ++expansion_;
  for (const std::uint32_t position : grammar_.alternatives(grammar_.root())) {
    expand({.position = position}, begin);
  }
  if (!exhausted_) start_.places = number(std::move(begin));
}

bool GrammarMatcher::spend(std::size_t entries) {
  if (++steps_ > kMatcherStepsMax || entries > kMatcherEntriesMax) exhausted_ = true;
  return !exhausted_;
}

std::uint32_t GrammarMatcher::number(Place place) {
  const auto next = static_cast<std::uint32_t>(places_.size());
  const auto [found, added] =
      place_numbers_.try_emplace(key_of(place.position, place.behind), next);
  if (added) {
    places_.push_back(place);
    seen_.push_back(0);
  }
  return found->second;
}

std::uint32_t GrammarMatcher::number(Places places) {
  std::ranges::sort(places);
  const std::size_t size = places.size();
  const auto next = static_cast<std::uint32_t>(states_.size());
  const auto [found, added] = state_numbers_.try_emplace(std::move(places), next);
  if (added) {
    states_.push_back(&found->first);
    state_places_ += size;
  }
  return found->second;
}

std::size_t GrammarMatcher::bytes() const {
  constexpr std::size_t kHashNode = 48;  // With its share of the buckets.
  constexpr std::size_t kState = 112;    // A node of a tree, and what its list takes beside places.
  return grammar_.bytes() + places_.size() * (sizeof(Place) + sizeof(std::uint64_t) + kHashNode) +
         states_.size() * (sizeof(void*) + kState) + state_places_ * sizeof(std::uint32_t) +
         (next_.size() + completes_.size()) * kHashNode;
}

// Appends the places of characters to come that `place` leads to, and 0 for the end.
void GrammarMatcher::expand(Place first, Places& out) {
  pending_.assign(1, first);
  while (!pending_.empty() && spend(places_.size())) {
    Place place = pending_.back();
    pending_.pop_back();
    while (grammar_.element(place.position).kind == Kind::end && place.behind != 0) {
      place = places_[place.behind];
    }
    const bool end = grammar_.element(place.position).kind == Kind::end;
    const std::uint32_t at = end ? 0 : number(place);
    if (std::exchange(seen_[at], expansion_) == expansion_) continue;
    if (end || grammar_.element(place.position).kind == Kind::chars) {
      out.push_back(at);
    } else {
      expand_rule(place);
    }
  }
}

void GrammarMatcher::expand_rule(Place place) {
  const std::uint32_t following = place.position + 1;
  const bool last = grammar_.element(following).kind == Kind::end;
  const std::uint32_t behind =
      last ? place.behind : number(Place{.position = following, .behind = place.behind});
  const std::uint32_t rule = grammar_.element(place.position).index;
  for (const std::uint32_t position : grammar_.alternatives(rule)) {
    pending_.push_back({.position = position, .behind = behind});
  }
  steps_ += grammar_.alternatives(rule).size();
}

std::uint32_t GrammarMatcher::after(std::uint32_t places, char32_t character) {
  const std::uint64_t key = key_of(places, grammar_.class_of(character));
  if (const auto known = next_.find(key); known != next_.end()) return known->second;
  Places following;
  ++expansion_;
  const Places& current = *states_[places];
  for (const std::uint32_t at : current) {
    if (at == 0) continue;
    if (!spend(state_places_ + following.size())) return 0;
    const Place place = places_[at];
    if (!grammar_.allows(grammar_.element(place.position).index, character)) continue;
    expand({.position = place.position + 1, .behind = place.behind}, following);
  }
  if (!spend(next_.size())) return 0;
  return next_[key] = number(std::move(following));
}

// Some character that begins so may come. Looked up where it can be: a large vocabulary has
// a hundred thousand tokens that end inside a character.
bool GrammarMatcher::may_complete(const State& state) {
  // The bits of a character, its missing bytes, and how many it has.
  const std::uint64_t begun = std::uint64_t{state.missing} << 21U | state.bits;
  const std::uint64_t form = std::uint64_t{state.least > 0x800} << 1U | (state.least > 0x80);
  const std::uint64_t key = std::uint64_t{state.places} << 25U | form << 23U | begun;
  if (const auto known = completes_.find(key); known != completes_.end()) return known->second;
  const bool may = completes(state);
  if (completes_.size() >= kMatcherEntriesMax) completes_.clear();
  completes_[key] = may;
  return may;
}

bool GrammarMatcher::completes(const State& state) {
  const auto shift = 6U * state.missing;
  const auto first = std::max<char32_t>(state.bits << shift, state.least);
  const auto last = static_cast<char32_t>(((state.bits + 1) << shift) - 1);
  return first <= last && std::ranges::any_of(*states_[state.places], [&](std::uint32_t at) {
           return at != 0 && spend(0) &&
                  grammar_.allows_some(grammar_.element(places_[at].position).index, first, last);
         });
}

GrammarMatcher::State GrammarMatcher::next(State state, unsigned char byte) {
  if (exhausted_ || !alive(state)) return {};
  if (state.missing > 0) {
    if ((byte & 0xC0U) != 0x80U) return {};
    state.bits = state.bits << 6U | (byte & 0x3FU);
    --state.missing;
  } else if (byte < 0x80) {
    state.bits = byte;
  } else if (byte >= 0xC2 && byte < 0xE0) {
    state = {.places = state.places, .missing = 1, .bits = byte & 0x1FU, .least = 0x80};
  } else if (byte >= 0xE0 && byte < 0xF0) {
    state = {.places = state.places, .missing = 2, .bits = byte & 0x0FU, .least = 0x800};
  } else if (byte >= 0xF0 && byte < 0xF5) {
    state = {.places = state.places, .missing = 3, .bits = byte & 0x07U, .least = 0x10000};
  } else {
    return {};
  }
  if (state.missing > 0) return may_complete(state) ? state : State{};
  if (state.bits < state.least) return {};
  return {.places = after(state.places, state.bits)};
}

bool GrammarMatcher::may_end(const State& state) const {
  const Places& places = *states_[state.places];
  return !exhausted_ && state.missing == 0 && !places.empty() && places.front() == 0;
}

}  // namespace seedance::text
