// Waiting for many descriptors at once (epoll), and being woken from elsewhere.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/fd.h"

namespace seedance::io {

// What the owner of a descriptor calls it.
struct Token {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Token, Token) = default;
};

// What a descriptor may be able to do now. `closed`: the peer sends no more, or
// the connection is broken; reading says which.
struct Ready {
  Token token;
  bool readable = false;
  bool writable = false;
  bool closed = false;
};

// The loop of a thread is `for (;;) for (Ready r : poller.wait(deadline)) ...`:
// nothing calls back. Edge-triggered: a descriptor is reported when something
// changed, so the owner reads (writes) until a transfer is short, or remembers
// that it did not. Costs no user memory for a descriptor. Belongs to one thread.
class Poller {
 public:
  static Result<Poller> open();
  Poller(Poller&&) noexcept;
  Poller& operator=(Poller&&) noexcept;
  ~Poller();

  // Until the descriptor is closed. Reported at once if it is ready already.
  Result<void> add(const Fd& fd, Token token);

  // Waits until something is ready or `until` has come (to the millisecond,
  // never early); at once if it is past. Valid until the next call. A token may
  // be reported after its descriptor was closed, if both happened between two
  // calls.
  std::span<const Ready> wait(TimePoint until);

 private:
  explicit Poller(Fd epoll);

  Fd epoll_;
  std::vector<epoll_event> events_;
  std::vector<Ready> ready_;
};

// Wakes a poller from any thread: the token is reported as readable, once for
// any number of wake() calls between two waits.
class Wakeup {
 public:
  static Result<Wakeup> open();

  Result<void> attach(Poller& poller, Token token) { return poller.add(event_, token); }
  void wake() const;

 private:
  explicit Wakeup(Fd event) : event_(std::move(event)) {}

  Fd event_;
};

}  // namespace seedance::io
