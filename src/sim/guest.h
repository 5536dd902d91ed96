// Whoever visits the server.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/native.h"
#include "base/time.h"
#include "sim/link.h"
#include "sim/world.h"

namespace seedance::sim {

// Connections that the server has not taken yet. They wait while there is none.
using Harbor = std::deque<std::shared_ptr<Link>>;

// Where a guest lives, and how it reads.
struct GuestPlan {
  std::string tenant;
  api::Subprotocol subprotocol = api::Subprotocol::json;
  std::size_t pipe_bytes_max = 4096;
  Duration delay{};
  Duration jitter{};
  Duration retry_max = std::chrono::seconds{1};
  // A slow reader takes so much at once, then pauses; 0 = all there is.
  std::size_t read_bytes_max = 0;
  Duration read_pause{};
};

// Has one connection at a time, and comes back until it is done.
class Guest {
 public:
  virtual ~Guest() = default;

  virtual void turn() = 0;
  virtual bool done() const = 0;

  // Faults.

  // Nothing while it has no connection.
  virtual Link* link() = 0;
  virtual void stall_until(TimePoint at) = 0;
  // Leaves, for so long or for good.
  virtual void leave(Duration away) = 0;
  virtual void abandon() = 0;
};

// One connection of a guest, and the bytes on it. Belongs to the guest.
class Line {
 public:
  Line(World& world, Actor owner, const GuestPlan& plan)
      : world_(world), owner_(owner), plan_(plan) {}

  void open(Surface surface, Harbor& harbor);
  void close();
  bool is_open() const { return link_ != nullptr; }
  Link* link() { return link_.get(); }

  // What is to be read now, piece by piece: nothing when there is no more, or the
  // reader pauses. Valid until the next call.
  struct Piece {
    std::span<char> bytes;
    Moment moment;  // When the server sent it.
  };
  std::optional<Piece> read();
  // Nothing comes any more.
  bool ended() const { return link_->down.ended(world_.now()); }
  void stall_until(TimePoint at) { reads_at_ = at; }

  // What is not taken is sent later, by flush().
  void send(std::string_view bytes) { unsent_ += bytes; }
  void flush();

  TimePoint arrival() const { return std::max(link_->down.arrival(), reads_at_); }

 private:
  World& world_;
  const Actor owner_;
  const GuestPlan& plan_;
  std::shared_ptr<Link> link_;  // Of both ends: whoever leaves last frees it.
  std::string input_;
  std::string unsent_;
  std::size_t read_ = 0;  // Since the last pause.
  TimePoint reads_at_{};
};

}  // namespace seedance::sim
