// A client: one connection at a time, and errands that outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/native.h"
#include "sim/errand.h"
#include "sim/link.h"
#include "sim/world.h"
#include "wire/ws_connection.h"

namespace seedance::sim {

// Connections that the server has not taken yet. They wait while there is none.
using Harbor = std::deque<std::shared_ptr<Link>>;

struct ClientPlan {
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

// Connects while there is something to do, and again when the connection is lost.
// Knows the WebSocket protocol, and of what is said only whose it is.
class Client {
 public:
  Client(Town& town, Actor self, ClientPlan plan, const wire::WsLimits& limits, Harbor& harbor);

  void add(ErrandPlan errand);
  void turn();
  bool done() const;

  // Faults.
  Link* link() { return link_.get(); }
  void stall_until(TimePoint at) { reads_at_ = at; }
  // Leaves, for so long or for good.
  void leave(Duration away);
  void abandon();

 private:
  void connect();
  void disconnect();
  void read();
  void take_events(Moment moment);
  void on_message(const ServerMessage& message, Moment moment);
  void on_payload(const wire::WsMessage& message, Moment moment);
  void speak();
  void flush();
  TimePoint deadline() const;
  std::uint32_t random32() { return static_cast<std::uint32_t>(world_.below(1ULL << 32)); }

  Town& town_;
  World& world_;
  const Actor self_;
  const ClientPlan plan_;
  const wire::WsLimits& limits_;
  Harbor& harbor_;

  std::deque<Errand> errands_;
  std::shared_ptr<Link> link_;  // Of both ends: whoever leaves last frees it.
  std::optional<wire::WsConnection> socket_;
  std::string input_;
  std::string unsent_;
  std::uint64_t names_ = 0;
  TimePoint connects_at_{};
  TimePoint reads_at_{};
  bool lost_ = false;  // The connection is over: no event comes any more.
};

}  // namespace seedance::sim
