#include "io/poller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/check.h"
#include "io/clock.h"
#include "io/system_error.h"

namespace seedance::io {
namespace {

constexpr std::size_t kEventsMax = 256;

int timeout_ms(TimePoint until) {
  if (until == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

}  // namespace

Poller::Poller(Fd epoll) : epoll_(std::move(epoll)), events_(kEventsMax) {
  ready_.reserve(kEventsMax);
}
Poller::Poller(Poller&&) noexcept = default;
Poller& Poller::operator=(Poller&&) noexcept = default;
Poller::~Poller() = default;

Result<Poller> Poller::open() {
  Fd epoll{epoll_create1(EPOLL_CLOEXEC)};
  if (!epoll.is_open()) return system_failure("epoll_create1");
  return Poller{std::move(epoll)};
}

Result<void> Poller::add(const Fd& fd, Token token) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = token.value;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    return system_failure("epoll_ctl");
  }
  return {};
}

std::span<const Ready> Poller::wait(TimePoint until) {
  ready_.clear();
  const int count =
      epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), timeout_ms(until));
  SEEDANCE_CHECK(count >= 0 || errno == EINTR, "epoll_wait on an open epoll descriptor");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    ready_.push_back({.token = {event.data.u64},
                      .readable = (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0,
                      .writable = (event.events & EPOLLOUT) != 0,
                      .closed = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0});
  }
  return ready_;
}

Result<Wakeup> Wakeup::open() {
  Fd event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!event.is_open()) return system_failure("eventfd");
  return Wakeup{std::move(event)};
}

void Wakeup::wake() const {
  // Edge-triggered pollers see every write, so nobody has to read the count; it
  // cannot overflow in the life of a process.
  const std::uint64_t one = 1;
  const ssize_t written = ::write(event_.get(), &one, sizeof(one));
  SEEDANCE_CHECK(written == sizeof(one), "an eventfd takes a count");
}

}  // namespace seedance::io
