// Tickets: what a page shows once instead of a key.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/principal.h"
#include "auth/secret.h"
#include "base/time.h"

namespace seedance::auth {

struct TicketLimits {
  std::size_t tickets_max = 10'000;
  Duration ttl = std::chrono::seconds{60};
};

// The tickets that wait for being used. Keeps their hashes only. Any thread may
// ask: a lock is held for the time of a look-up.
class TicketBook {
 public:
  explicit TicketBook(TicketLimits limits) : limits_(limits) {}
  TicketBook(const TicketBook&) = delete;
  TicketBook& operator=(const TicketBook&) = delete;

  // A fresh ticket for the principal; nothing when too many wait.
  std::optional<std::string> issue(Principal principal, TimePoint now);

  // Whose ticket it is, while it may be taken.
  std::optional<Principal> find(std::string_view ticket, TimePoint now) const;

  // Whose ticket it is, the first time that it is shown before its time is over.
  std::optional<Principal> take(std::string_view ticket, TimePoint now);

  // For tickets that are issued from here on.
  void set_limits(TicketLimits limits);

  std::size_t size() const;

 private:
  struct Ticket {
    SecretHash hash;
    Principal principal;
    TimePoint expires;
  };
  struct FirstBytes {
    std::size_t operator()(const SecretHash& hash) const noexcept;
  };

  void drop_expired(TimePoint now);

  mutable std::mutex mutex_;
  TicketLimits limits_;
  std::list<Ticket> tickets_;  // In the order of issue.
  // Tickets are random: how long a search for a wrong one takes tells nothing.
  std::unordered_map<SecretHash, std::list<Ticket>::iterator, FirstBytes> by_hash_;
};

}  // namespace seedance::auth
