#include "sim/guest.h"

#include <algorithm>

namespace seedance::sim {

void Line::open(Surface surface, Harbor& harbor) {
  link_ = std::make_shared<Link>(plan_.pipe_bytes_max);
  link_->tenant = plan_.tenant;
  link_->surface = surface;
  link_->subprotocol = plan_.subprotocol;
  link_->delay = plan_.delay;
  link_->jitter = plan_.jitter;
  link_->client = owner_;
  world_.note("connect", owner_.value);
  harbor.push_back(link_);
}

void Line::close() {
  world_.note("disconnect", owner_.value);
  link_->up.finish(world_.now() + link_->delay);
  link_->down.finish(world_.now());
  if (link_->edge) world_.wake(*link_->edge, link_->up.arrival());
  link_.reset();
  unsent_.clear();
}

std::optional<Line::Piece> Line::read() {
  const TimePoint now = world_.now();
  if (now < reads_at_) return std::nullopt;
  const auto piece = link_->down.peek(now);
  if (!piece) return std::nullopt;
  std::size_t count = 1 + world_.below(piece->bytes.size());
  if (plan_.read_bytes_max > 0) {
    count = std::min(count, plan_.read_bytes_max - read_);
    read_ += count;
    if (read_ == plan_.read_bytes_max) {
      read_ = 0;
      reads_at_ = now + plan_.read_pause;
    }
  }
  input_.assign(piece->bytes.substr(0, count));
  const Moment moment = piece->moment;
  const bool was_full = link_->down.full();
  link_->down.take(count);
  if (was_full && link_->edge) world_.wake(*link_->edge, now + link_->delay);
  return Piece{input_, moment};
}

void Line::flush() {
  if (unsent_.empty()) return;
  const TimePoint arrives = world_.now() + link_->delay + world_.between({}, link_->jitter);
  const std::size_t sent = link_->up.write(unsent_, arrives, world_.moment());
  unsent_.erase(0, sent);
  if (sent > 0 && link_->edge) world_.wake(*link_->edge, link_->up.arrival());
}

}  // namespace seedance::sim
