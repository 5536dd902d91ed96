// The connections of one edge, by their ids.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/id.h"
#include "server/connection.h"

namespace seedance::server {

// An id is a place in an array and a number that no other connection of the edge
// ever has: finding one costs no hash, and an id of a connection that is gone finds
// nothing. Belongs to one thread.
class ConnectionTable {
 public:
  static constexpr unsigned kPlaceBits = 24;  // Connections of one edge at the same time.
  static constexpr ConnectionId kFirst{std::uint64_t{1} << kPlaceBits};

  // The id of the connection that put() is given next.
  ConnectionId reserve();
  Connection& put(ConnectionId id, std::unique_ptr<Connection> connection);
  void release(ConnectionId id);  // Reserved or put: gone.

  // Null when it is gone.
  Connection* find(ConnectionId id) const {
    const std::uint32_t at = place_of(id);
    return at < places_.size() && places_[at].id == id ? places_[at].connection.get() : nullptr;
  }
  // Of whoever has the place now; null when nobody has.
  Connection* find_at(std::uint32_t place) const;

  // Below the number of connections that there were at the same time. That of one that
  // is gone is given to another.
  static std::uint32_t place_of(ConnectionId id) {
    return static_cast<std::uint32_t>(id.value & ((std::uint64_t{1} << kPlaceBits) - 1));
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Place& place : places_) {
      if (place.connection) visit(*place.connection);
    }
  }

 private:
  struct Place {
    ConnectionId id;
    std::unique_ptr<Connection> connection;
  };

  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  std::uint64_t serial_ = 0;
  std::size_t size_ = 0;
};

}  // namespace seedance::server
