#include "auth/ticket_book.h"

#include <cstring>
#include <utility>

namespace seedance::auth {

std::size_t TicketBook::FirstBytes::operator()(const SecretHash& hash) const noexcept {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

std::size_t tickets_per_tenant(const TicketLimits& limits) {
  return limits.tenant_max != 0 ? limits.tenant_max : (limits.tickets_max + 1) / 2;
}

std::variant<std::string, TicketBook::Full> TicketBook::issue(Principal principal, TimePoint now) {
  std::string ticket = make_secret(kTicketPrefix);
  const SecretHash hash = hash_of(ticket);
  const std::scoped_lock lock{mutex_};
  drop_expired(now);
  if (tickets_.size() >= limits_.tickets_max) return Full::book;
  const auto owned = by_tenant_.find(principal.tenant);
  if (owned != by_tenant_.end() && owned->second >= tickets_per_tenant(limits_)) {
    return Full::tenant;
  }
  ++by_tenant_[principal.tenant];
  tickets_.push_back(
      {.hash = hash, .principal = std::move(principal), .expires = now + limits_.ttl});
  by_hash_.emplace(hash, std::prev(tickets_.end()));
  return ticket;
}

std::optional<Principal> TicketBook::find(std::string_view ticket, TimePoint now) const {
  const SecretHash hash = hash_of(ticket);
  const std::scoped_lock lock{mutex_};
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || now >= found->second->expires) return std::nullopt;
  return found->second->principal;
}

std::optional<Principal> TicketBook::take(std::string_view ticket, TimePoint now) {
  const SecretHash hash = hash_of(ticket);
  const std::scoped_lock lock{mutex_};
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return std::nullopt;
  Ticket taken = remove(found->second);
  if (now >= taken.expires) return std::nullopt;
  return std::move(taken.principal);
}

void TicketBook::set_limits(TicketLimits limits) {
  const std::scoped_lock lock{mutex_};
  limits_ = limits;
}

std::size_t TicketBook::size() const {
  const std::scoped_lock lock{mutex_};
  return tickets_.size();
}

// One that was issued for longer keeps those behind it: until it goes, no longer.
void TicketBook::drop_expired(TimePoint now) {
  while (!tickets_.empty() && now >= tickets_.front().expires) {
    (void)remove(tickets_.begin());
  }
}

TicketBook::Ticket TicketBook::remove(Tickets::iterator ticket) {
  Ticket removed = std::move(*ticket);
  tickets_.erase(ticket);
  by_hash_.erase(removed.hash);
  const auto owned = by_tenant_.find(removed.principal.tenant);
  if (--owned->second == 0) by_tenant_.erase(owned);
  return removed;
}

}  // namespace seedance::auth
