// An edge of the server: an I/O thread with its connections.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "core/messages.h"
#include "sim/link.h"
#include "sim/session.h"
#include "sim/world.h"

namespace seedance::sim {

// Takes the core's mail to its sessions, and lets each do what there is to do.
class Edge {
 public:
  Edge(World& world, Actor self, Referee& referee, const EdgePlan& plan, core::EdgeId id);

  void adopt(std::shared_ptr<Link> link);

  // Mail of the core, read in the next turn.
  void deliver(core::Reply reply) { mail_.emplace_back(std::move(reply)); }
  void deliver(core::Wake wake) { mail_.emplace_back(std::move(wake)); }

  void turn();
  // Logs may have grown, and if so, there is mail.
  void on_core_turn();
  // What it has for the core.
  std::vector<core::Message> take_messages() { return std::exchange(context_.to_core, {}); }

  void drain(Duration reconnect_within);
  void close_all();
  bool empty() const { return sessions_.empty(); }
  // The process dies, and all its connections with it.
  void die();

 private:
  void take(core::Reply& reply);
  void take(core::Wake& wake);

  EdgeContext context_;
  World& world_;
  const Actor self_;
  std::map<ConnectionId, std::unique_ptr<Session>> sessions_;
  std::vector<std::variant<core::Reply, core::Wake>> mail_;
  std::uint64_t last_connection_ = 0;
};

}  // namespace seedance::sim
