#include "sim/edge.h"

#include <utility>

#include "sim/event_session.h"
#include "sim/native_session.h"

namespace seedance::sim {

Edge::Edge(World& world, Actor self, Referee& referee, const EdgePlan& plan, core::EdgeId id)
    : context_{.world = world, .referee = referee, .plan = plan, .edge = id},
      world_(world),
      self_(self) {}

void Edge::adopt(std::shared_ptr<Link> link) {
  const ConnectionId id{++last_connection_};
  link->edge = self_;
  world_.note("adopt", context_.edge.value, id.value);
  std::unique_ptr<Session> session;
  if (link->surface == Surface::events) {
    session = std::make_unique<EventSession>(context_, id, std::move(link));
  } else {
    session = std::make_unique<NativeSession>(context_, id, std::move(link));
  }
  sessions_.emplace(id, std::move(session));
  world_.wake(self_, world_.now());
}

void Edge::turn() {
  for (auto& mail : std::exchange(mail_, {})) {
    std::visit([this](auto& body) { take(body); }, mail);
  }
  TimePoint next = kNever;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    if (at->second->due()) at->second->turn();
    next = std::min(next, at->second->deadline());
    at = at->second->closed() ? sessions_.erase(at) : std::next(at);
  }
  world_.wake(self_, next);
}

void Edge::take(core::Reply& reply) {
  const auto session = sessions_.find(reply.to.connection);
  if (session != sessions_.end()) session->second->on_reply(reply.to.request, reply.body);
}

void Edge::on_core_turn() {
  for (const auto& [id, session] : sessions_) session->on_core_turn();
}

void Edge::take(core::Wake& wake) {
  if (context_.plan.canary == Canary::wakes_dropped) return;
  for (const ConnectionId id : wake.connections) {
    const auto session = sessions_.find(id);
    if (session != sessions_.end()) session->second->on_wake();
  }
}

void Edge::drain(Duration reconnect_within) {
  for (const auto& [id, session] : sessions_) session->on_drain(reconnect_within);
  world_.wake(self_, world_.now());
}

void Edge::close_all() {
  for (const auto& [id, session] : sessions_) session->on_drain_timeout();
  world_.wake(self_, world_.now());
}

void Edge::die() {
  for (const auto& [id, session] : sessions_) session->die();
}

}  // namespace seedance::sim
