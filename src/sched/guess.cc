#include "sched/guess.h"

namespace seedance::sched {

void Guess::set(std::span<const TokenId> tokens) {
  tokens_.assign(tokens.begin(), tokens.end());
  told_ = 0;
}

bool Guess::on_token(TokenId token) {
  if (told_ == tokens_.size()) return false;
  const bool right = tokens_[told_++] == token;
  chance_ += newest_ * ((right ? 1 : 0) - chance_);
  if (!right) told_ = tokens_.size();
  return right;
}

}  // namespace seedance::sched
