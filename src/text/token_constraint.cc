#include "text/token_constraint.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace seedance::text {
namespace {

constexpr std::size_t kKnownMax = 16;

std::size_t common_bytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t index(TokenId token) {
  return static_cast<std::size_t>(token.value);
}

}  // namespace

void TokenSet::add(TokenId token) {
  bits_[index(token) / 64] |= std::uint64_t{1} << (index(token) % 64);
}

bool TokenSet::contains(TokenId token) const {
  return (bits_[index(token) / 64] >> (index(token) % 64) & 1U) != 0;
}

PieceOrder::PieceOrder(PieceTable pieces) : pieces_(std::move(pieces)) {
  for (std::int32_t id = 0; std::cmp_less(id, pieces_.size()); ++id) {
    const TokenId token{id};
    if (pieces_.kind(token) == PieceKind::end) {
      ends_.push_back(token);
    } else if (!pieces_.visible(token).empty()) {
      entries_.push_back({.token = token});
    }
  }
  const auto bytes = [this](const Entry& each) { return pieces_.visible(each.token); };
  std::ranges::sort(entries_, {}, bytes);
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    entries_[i].common =
        static_cast<std::uint32_t>(common_bytes(bytes(entries_[i - 1]), bytes(entries_[i])));
  }
}

TokenSet PieceOrder::allowed(GrammarMatcher& matcher, const GrammarMatcher::State& state) const {
  TokenSet result{pieces_.size()};
  if (matcher.may_end(state)) {
    for (const TokenId token : ends_) result.add(token);
  }
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<GrammarMatcher::State> states{state};  // Behind the first bytes of the last piece.
  std::size_t dead = kNone;                          // So many of its bytes cannot come.
  for (const Entry& each : entries_) {
    if (each.common >= dead) continue;
    dead = kNone;
    if (each.common + 1 < states.size()) states.resize(each.common + 1);
    const std::string_view piece = pieces_.visible(each.token);
    while (dead == kNone && states.size() <= piece.size()) {
      const auto byte = static_cast<unsigned char>(piece[states.size() - 1]);
      const auto next = matcher.next(states.back(), byte);
      if (GrammarMatcher::alive(next)) {
        states.push_back(next);
      } else {
        dead = states.size();
      }
    }
    if (dead == kNone) result.add(each.token);
  }
  return result;
}

TokenConstraint::TokenConstraint(Grammar grammar, const PieceOrder& order)
    : matcher_(std::move(grammar)), state_(matcher_.start()), order_(&order) {}

GrammarMatcher::State TokenConstraint::after(TokenId token) {
  const PieceTable& pieces = order_->pieces();
  const std::string_view piece = pieces.visible(token);
  if (piece.empty()) return {};
  GrammarMatcher::State state = state_;
  for (const char byte : piece) state = matcher_.next(state, static_cast<unsigned char>(byte));
  return state;
}

bool TokenConstraint::allows(TokenId token) {
  if (order_->pieces().kind(token) == PieceKind::end) return matcher_.may_end(state_);
  return GrammarMatcher::alive(after(token));
}

const TokenSet& TokenConstraint::allowed() {
  auto found = std::ranges::find(known_, state_, &Known::state);
  if (found == known_.end()) {
    if (known_.size() == kKnownMax) known_.pop_back();
    known_.push_back({.state = state_, .allowed = order_->allowed(matcher_, state_)});
    found = known_.end() - 1;
  }
  std::rotate(known_.begin(), found, found + 1);
  return known_.front().allowed;
}

std::size_t TokenConstraint::bytes() const {
  std::size_t sum = matcher_.bytes();
  for (const Known& known : known_) sum += known.allowed.bytes();
  return sum;
}

bool TokenConstraint::accept(TokenId token) {
  matcher_.renew();
  if (order_->pieces().kind(token) == PieceKind::end) {
    const bool may = matcher_.may_end(state_);
    state_ = {};
    return may;
  }
  state_ = after(token);
  return GrammarMatcher::alive(state_);
}

}  // namespace seedance::text
