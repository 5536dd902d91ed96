// API keys, and where a request carries one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/principal.h"
#include "auth/secret.h"

namespace seedance::auth {

// The keys that open this server, and who comes in by each. A value; any thread
// may ask it.
//
// Keeps only their SHA-256, and finds those in a table, so that thousands of keys
// cost no more than one. Hashes are compared in constant time; how many there are
// to compare depends on the hash of what is asked for, hashed once more with a
// number that only this table knows. So whoever measures the time learns nothing
// about a key, nor about its hash, even where a person chose the key.
class KeyTable {
 public:
  KeyTable();

  // The first of two that are the same stays.
  void add(const SecretHash& key, const Principal& principal);

  // Null when no key is like that. Valid until the table changes.
  const Principal* find(std::string_view key) const;

  // The one that came in by a key of this mark; null when the key is no more.
  const Principal* find_mark(std::uint64_t mark) const;

  std::size_t size() const { return keys_.size(); }

 private:
  struct FirstBytes {
    std::size_t operator()(const SecretHash& hash) const noexcept;
  };
  struct Same {
    bool operator()(const SecretHash& a, const SecretHash& b) const { return same(a, b); }
  };

  SecretHash blinded(const SecretHash& hash) const;

  std::string blind_;
  std::unordered_map<SecretHash, Principal, FirstBytes, Same> keys_;
  std::unordered_map<std::uint64_t, Principal> by_mark_;
};

// The token of an Authorization header (RFC 6750); empty when it has none.
std::string_view bearer_token(std::string_view authorization);

// Browsers cannot set headers on a WebSocket, so a key, a token or a ticket may
// stand among the offered subprotocols, behind one of these. It is never chosen.
inline constexpr std::string_view kKeySubprotocol = "seedance.key.";
inline constexpr std::string_view kTicketSubprotocol = "seedance.ticket.";

// What follows the prefix in a Sec-WebSocket-Protocol header; empty when it is
// not there.
std::string_view subprotocol_secret(std::string_view offered, std::string_view prefix);

// The value of "ticket" in the query of a URL; empty when it has none.
std::string_view query_ticket(std::string_view query);

}  // namespace seedance::auth
