#include "sched/guess.h"

namespace seedance::sched {
namespace {

// The share of the newest guess in the average.
constexpr double kNewest = 0.125;

}  // namespace

double chance_after(double chance, bool right) {
  return chance + (kNewest * ((right ? 1 : 0) - chance));
}

void Guess::set(std::span<const TokenId> tokens) {
  tokens_.assign(tokens.begin(), tokens.end());
  told_ = 0;
}

bool Guess::on_token(TokenId token) {
  if (told_ == tokens_.size()) return false;
  const bool right = tokens_[told_++] == token;
  chance_ = chance_after(chance_, right);
  if (!right) told_ = tokens_.size();
  return right;
}

}  // namespace seedance::sched
