// Tickets: what a page shows once instead of a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "auth/principal.h"
#include "auth/secret.h"
#include "base/time.h"

namespace seedance::auth {

struct TicketLimits {
  std::size_t tickets_max = 10'000;
  std::size_t tenant_max = 0;  // Of one tenant; 0 = half of them.
  Duration ttl = std::chrono::seconds{60};
};

// Of one tenant at most, by these limits.
std::size_t tickets_per_tenant(const TicketLimits& limits);

// The tickets that wait for being used. Keeps their hashes only. Any thread may
// ask: a lock is held for the time of a look-up.
class TicketBook {
 public:
  explicit TicketBook(TicketLimits limits) : limits_(limits) {}
  TicketBook(const TicketBook&) = delete;
  TicketBook& operator=(const TicketBook&) = delete;

  enum class Full : std::uint8_t { book, tenant };

  // A fresh ticket for the principal, or of whom too many wait.
  std::variant<std::string, Full> issue(Principal principal, TimePoint now);

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

  using Tickets = std::list<Ticket>;

  void drop_expired(TimePoint now);
  Ticket remove(Tickets::iterator ticket);

  mutable std::mutex mutex_;
  TicketLimits limits_;
  Tickets tickets_;                                         // In the order of issue.
  std::unordered_map<std::string, std::size_t> by_tenant_;  // How many are whose.
  // Tickets are random: how long a search for a wrong one takes tells nothing.
  std::unordered_map<SecretHash, Tickets::iterator, FirstBytes> by_hash_;
};

}  // namespace seedance::auth
