#include "sim/link.h"

#include <algorithm>

namespace seedance::sim {

std::size_t Pipe::write(std::string_view bytes, TimePoint arrives, Moment moment) {
  if (end_arrives_ != kNever) return bytes.size();  // The reader is gone; nobody tells.
  const std::size_t room = bytes_max_ - std::min(bytes_max_, bytes_under_way());
  const std::size_t taken = std::min(room, bytes.size());
  if (taken == 0) return 0;
  bytes_.append(bytes.substr(0, taken));
  last_arrives_ = std::max(last_arrives_, arrives);
  written_.push_back({bytes_.size(), last_arrives_, moment});
  return taken;
}

void Pipe::finish(TimePoint arrives) {
  if (end_arrives_ == kNever) end_arrives_ = std::max(last_arrives_, arrives);
}

void Pipe::cut(std::size_t bytes, TimePoint arrives) {
  bytes_.resize(std::min(bytes_.size(), read_ + bytes));
  while (!written_.empty() && written_.back().end > bytes_.size()) {
    const std::size_t begin = written_.size() > 1 ? written_[written_.size() - 2].end : read_;
    if (begin < bytes_.size()) {
      written_.back().end = bytes_.size();
    } else {
      written_.pop_back();
    }
  }
  last_arrives_ = written_.empty() ? TimePoint{} : written_.back().arrives;
  end_arrives_ = std::max(last_arrives_, arrives);
}

std::optional<Pipe::Piece> Pipe::peek(TimePoint now) const {
  if (silent_ || written_.empty() || written_.front().arrives > now) return std::nullopt;
  const Written& first = written_.front();
  return Piece{std::string_view{bytes_}.substr(read_, first.end - read_), first.moment};
}

void Pipe::take(std::size_t bytes) {
  read_ += bytes;
  if (read_ == written_.front().end) written_.pop_front();
  if (!written_.empty()) return;
  bytes_.clear();
  read_ = 0;
}

bool Pipe::ended(TimePoint now) const {
  return !silent_ && written_.empty() && end_arrives_ <= now;
}

TimePoint Pipe::arrival() const {
  if (silent_) return kNever;
  return written_.empty() ? end_arrives_ : written_.front().arrives;
}

void Link::cut(World& world) {
  for (Pipe* pipe : {&up, &down}) {
    pipe->cut(world.below(pipe->bytes_under_way() + 1), world.now());
  }
  lost = true;
  world.wake(client, world.now());
  if (edge) world.wake(*edge, world.now());
}

void Link::silence() {
  up.silence();
  down.silence();
  lost = true;
}

}  // namespace seedance::sim
