#include "load/schedule.h"

#include <algorithm>

namespace seedance::loadgen {

Schedule::Schedule(const Shape& shape, std::uint64_t seed, TimePoint start)
    : shape_(shape),
      arrivals_(shape.open_loop() ? shape.rate : 1, seed),
      start_(start),
      end_(shape.duration > Duration{} ? start + shape.duration : kNever),
      full_until_(end_),
      due_(start + arrivals_.next()) {}

std::uint64_t Schedule::in_flight_max() const {
  return shape_.open_loop() ? shape_.in_flight_max : shape_.concurrency;
}

std::optional<Schedule::Send> Schedule::next(TimePoint now) {
  while (!resting_.empty() && resting_.front() <= now) resting_.pop_front();
  auto send = over() ? std::nullopt : take(now);
  if (!send && now >= end_) over_ = true;
  return send;
}

std::optional<Schedule::Send> Schedule::take(TimePoint now) {
  if (in_flight_ + resting_.size() >= in_flight_max()) return std::nullopt;
  TimePoint due = now;
  if (shape_.open_loop()) {
    if (due_ > now) return std::nullopt;
    due = due_;
  }
  if (due >= end_) return std::nullopt;
  if (shape_.open_loop()) due_ = start_ + arrivals_.next();
  ++in_flight_;
  const Send send{sent_++, due};
  if (shape_.open_loop() && all_sent()) full_until_ = std::min(full_until_, now);
  return send;
}

void Schedule::on_end(Outcome outcome, TimePoint now) {
  --in_flight_;
  if (shape_.open_loop()) return;
  if (all_sent()) full_until_ = std::min(full_until_, now);
  if (outcome == Outcome::failed) resting_.push_back(now + kPauseAfterFailure);
}

TimePoint Schedule::deadline() const {
  if (over()) return kNever;
  TimePoint next = resting_.empty() ? kNever : resting_.front();
  if (shape_.open_loop() && in_flight_ < shape_.in_flight_max) next = due_;
  return std::min(next, end_);
}

std::uint64_t Schedule::count_unsent() {
  std::uint64_t count = 0;
  if (!shape_.open_loop() || end_ == kNever) return count;
  for (; due_ < end_ && !all_sent(); due_ = start_ + arrivals_.next(), ++sent_) ++count;
  return count;
}

}  // namespace seedance::loadgen
