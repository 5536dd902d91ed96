// A connection between a client and the server, as a network makes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "api/native.h"
#include "base/time.h"
#include "sim/world.h"

namespace seedance::sim {

// One direction: bytes arrive later, in order, and may end anywhere.
class Pipe {
 public:
  explicit Pipe(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // The writer's side.

  // Takes what there is room for, and gives its count. `moment`: see Piece.
  std::size_t write(std::string_view bytes, TimePoint arrives, Moment moment);
  bool full() const { return bytes_.size() - read_ >= bytes_max_; }
  // Nothing more will be written; what is under way arrives.
  void finish(TimePoint arrives);

  // The network's.

  // Of what is under way only so much arrives, and then the end.
  void cut(std::size_t bytes, TimePoint arrives);
  // Nothing arrives any more, not even the end.
  void silence() { silent_ = true; }

  std::size_t bytes_under_way() const { return bytes_.size() - read_; }

  // The reader's side.

  // What came of one write, valid until the next call.
  struct Piece {
    std::string_view bytes;
    Moment moment;  // Of the write.
  };
  std::optional<Piece> peek(TimePoint now) const;
  void take(std::size_t bytes);
  bool ended(TimePoint now) const;
  // When there is something to be read, or the end.
  TimePoint arrival() const;

 private:
  struct Written {
    std::size_t end = 0;  // In bytes_.
    TimePoint arrives;
    Moment moment;
  };

  std::size_t bytes_max_;
  std::string bytes_;
  std::size_t read_ = 0;  // Of bytes_.
  std::deque<Written> written_;
  TimePoint last_arrives_{};
  TimePoint end_arrives_ = kNever;
  bool silent_ = false;
};

// What is spoken on a connection.
enum class Surface : std::uint8_t {
  web_socket,  // The native protocol.
  events,      // One stream as server-sent events.
};

// Both directions, and what the handshake settled.
struct Link {
  explicit Link(std::size_t bytes_max) : up(bytes_max), down(bytes_max) {}

  // Both directions, as the network does it to a connection that it loses.
  void cut(World& world);
  void silence();

  std::string tenant;
  Surface surface = Surface::web_socket;
  api::Subprotocol subprotocol = api::Subprotocol::json;
  Duration delay{};   // One way, the least of it ...
  Duration jitter{};  // ... and what can come on top.
  Pipe up;            // From the client.
  Pipe down;
  Actor client;
  std::optional<Actor> edge = {};  // Once it was accepted.
  bool lost = false;               // Cut or silent.
};

}  // namespace seedance::sim
