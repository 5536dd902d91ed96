#include "server/waiting_requests.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace seedance::server {

std::uint64_t WaitingRequests::bytes_of(const api::InferRequest& request) {
  return sizeof(Waiting) - sizeof(request.request) + request.id.size() +
         core::bytes_of(request.request);
}

void WaitingRequests::add(StreamId stream, api::InferRequest request, Duration wait_max,
                          TimePoint now) {
  const TimePoint start_by = now + request.request.deadline.value_or(wait_max);
  const std::uint64_t bytes = bytes_of(request);
  waiting_.push_back({stream, now, start_by, bytes, std::move(request)});
  bytes_ += bytes;
  deadline_ = std::min(deadline_, start_by);
}

WaitingRequests::Waiting WaitingRequests::take() {
  SEEDANCE_CHECK(!waiting_.empty(), "somebody waits");
  return take(waiting_.begin());
}

std::optional<WaitingRequests::Waiting> WaitingRequests::take(std::string_view id) {
  const auto found =
      std::ranges::find_if(waiting_, [&](const Waiting& one) { return one.request.id == id; });
  if (found == waiting_.end()) return std::nullopt;
  return take(found);
}

std::optional<WaitingRequests::Waiting> WaitingRequests::take_late(TimePoint now) {
  if (now < deadline_) return std::nullopt;
  return take(std::ranges::min_element(waiting_, {}, &Waiting::start_by));
}

bool WaitingRequests::contains(std::string_view id) const {
  return std::ranges::any_of(waiting_, [&](const Waiting& one) { return one.request.id == id; });
}

WaitingRequests::Waiting WaitingRequests::take(const At& at) {
  Waiting taken = std::move(*at);
  waiting_.erase(at);
  bytes_ -= taken.bytes;
  if (waiting_.empty()) {
    deadline_ = kNever;
  } else if (taken.start_by == deadline_) {
    deadline_ = std::ranges::min_element(waiting_, {}, &Waiting::start_by)->start_by;
  }
  return taken;
}

}  // namespace seedance::server
