#include "server/connection_table.h"

#include "base/check.h"

namespace seedance::server {

ConnectionId ConnectionTable::reserve() {
  if (free_.empty()) {
    SEEDANCE_CHECK(places_.size() < (std::size_t{1} << kPlaceBits), "an edge has 2^24 places");
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  places_[at].id = {(++serial_ << kPlaceBits) | at};
  return places_[at].id;
}

Connection& ConnectionTable::put(ConnectionId id, std::unique_ptr<Connection> connection) {
  Place& place = places_[place_of(id)];
  SEEDANCE_CHECK(place.id == id && !place.connection, "it was reserved");
  place.connection = std::move(connection);
  ++size_;
  return *place.connection;
}

void ConnectionTable::release(ConnectionId id) {
  const std::uint32_t at = place_of(id);
  if (at >= places_.size() || places_[at].id != id) return;
  if (places_[at].connection) --size_;
  // What goes may still look for itself.
  const auto gone = std::move(places_[at].connection);
  places_[at].id = {};
  free_.push_back(at);
}

Connection* ConnectionTable::find_at(std::uint32_t place) const {
  return place < places_.size() ? places_[place].connection.get() : nullptr;
}

}  // namespace seedance::server
