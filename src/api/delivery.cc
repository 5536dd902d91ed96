#include "api/delivery.h"

namespace seedance::api {

void Rendered::add(Offset begin, Offset end) {
  if (tokens == 0) from = begin;
  if (begin != from + tokens || end < begin) gap = true;
  tokens += end.value - begin.value;
}

bool DeliveryCheck::on_rendered(const Rendered& rendered) {
  if (rendered.tokens == 0) return !rendered.gap;
  const bool follows = rendered.from == next_ && !rendered.gap;
  tokens_ += rendered.tokens;
  next_ = rendered.from + rendered.tokens;
  return follows;
}

bool DeliveryCheck::on_taken_back(Offset to) {
  if (to < from_ || to > next_) return false;
  tokens_ -= next_.value - to.value;
  next_ = to;
  return true;
}

bool DeliveryCheck::complete(Offset total) const {
  return next_ == total && from_ + tokens_ == total;
}

}  // namespace seedance::api
