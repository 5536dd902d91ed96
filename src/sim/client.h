// A client of the native protocol: errands that outlive its connections.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "sim/errand.h"
#include "sim/guest.h"
#include "sim/world.h"
#include "wire/ws_connection.h"

namespace seedance::sim {

// Connects while there is something to do, and again when the connection is lost.
// Knows the WebSocket protocol, and of what is said only whose it is.
class Client final : public Guest {
 public:
  Client(Town& town, Actor self, GuestPlan plan, const wire::WsLimits& limits, Harbor& harbor);

  void add(ErrandPlan errand);

  void turn() override;
  bool done() const override;
  Link* link() override { return line_.link(); }
  void stall_until(TimePoint at) override { line_.stall_until(at); }
  void leave(Duration away) override;
  void abandon() override;

 private:
  void connect();
  void disconnect();
  void read();
  void take_events(Moment moment);
  void on_message(const ServerMessage& message, Moment moment);
  void on_payload(const wire::WsMessage& message, Moment moment);
  void speak();
  TimePoint deadline() const;

  Town& town_;
  World& world_;
  const Actor self_;
  const GuestPlan plan_;
  const wire::WsLimits& limits_;
  Harbor& harbor_;

  std::deque<Errand> errands_;
  Line line_;
  std::optional<wire::WsConnection> socket_;  // While the line is open.
  std::uint64_t names_ = 0;
  TimePoint connects_at_{};
  bool lost_ = false;  // The connection is over: no event comes any more.
};

}  // namespace seedance::sim
