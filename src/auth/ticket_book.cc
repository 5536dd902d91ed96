#include "auth/ticket_book.h"

#include <cstring>
#include <utility>

namespace seedance::auth {

std::size_t TicketBook::FirstBytes::operator()(const SecretHash& hash) const noexcept {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

std::optional<std::string> TicketBook::issue(Principal principal, TimePoint now) {
  std::string ticket = make_secret(kTicketPrefix);
  const SecretHash hash = hash_of(ticket);
  const std::scoped_lock lock{mutex_};
  drop_expired(now);
  if (tickets_.size() >= limits_.tickets_max) return std::nullopt;
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
  Ticket taken = std::move(*found->second);
  tickets_.erase(found->second);
  by_hash_.erase(found);
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
    by_hash_.erase(tickets_.front().hash);
    tickets_.pop_front();
  }
}

}  // namespace seedance::auth
