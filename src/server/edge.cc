#include "server/edge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/openai.h"
#include "base/prefetch.h"
#include "io/address.h"
#include "io/clock.h"
#include "io/listen_fds.h"
#include "server/http_session.h"
#include "wire/http.h"

namespace seedance::server {
namespace {

constexpr io::Token kInboxToken{0};
constexpr std::uint64_t kFirstListener = 1;
static_assert(kFirstListener + io::kListenFdsMax <= ConnectionTable::kFirst.value,
              "a token is a listener's or a connection's");
constexpr Duration kAcceptAgain = std::chrono::milliseconds{100};
constexpr int kAcceptsMax = 64;                  // Before those that are here have their turn.
constexpr std::size_t kDeadlineMovesMax = 4096;  // Likewise.

std::string too_many_answer(Limit met, const ServerLimits& limits) {
  std::string message =
      met == Limit::address
          ? fmt::format(
                "your address has all {} connections that one may have here; close one, "
                "or try again in a moment",
                limits.connections_per_address_max)
          : fmt::format("too many connections: this server takes {}; try again in a moment",
                        limits.connections_max);
  const api::HttpAnswer answer =
      api::error_answer({.code = ErrorCode::connection_limit, .message = std::move(message)});
  std::string out;
  wire::append_response(
      out, answer.status,
      {{"Content-Type", "application/json"}, {"Retry-After", "1"}, {"Connection", "close"}},
      answer.body);
  return out;
}

}  // namespace

Result<std::unique_ptr<Edge>> Edge::open(std::unique_ptr<EdgeContext> context, EdgeInbox& inbox,
                                         std::vector<const io::Listener*> listeners,
                                         std::span<const std::unique_ptr<EdgeInbox>> inboxes) {
  auto poller = io::Poller::open();
  if (!poller) return std::unexpected(poller.error());
  if (auto added = inbox.attach(*poller, kInboxToken); !added) {
    return std::unexpected(added.error());
  }
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    if (auto added = poller->add(listeners[i]->fd(), {kFirstListener + i}); !added) {
      return std::unexpected(added.error());
    }
  }
  return std::unique_ptr<Edge>{
      new Edge{std::move(context), inbox, std::move(listeners), inboxes, std::move(*poller)}};
}

Edge::Edge(std::unique_ptr<EdgeContext> context, EdgeInbox& inbox,
           std::vector<const io::Listener*> listeners,
           std::span<const std::unique_ptr<EdgeInbox>> inboxes, io::Poller poller)
    : context_(std::move(context)),
      inbox_(inbox),
      listeners_(std::move(listeners)),
      inboxes_(inboxes),
      poller_(std::move(poller)),
      next_inbox_(context_->edge.value) {}

void Edge::run() {
  while (!finishing_ || (!connections_.empty() && io::now() < finish_by_)) {
    const TimePoint until = std::min({deadlines_.next(), accept_at_, finish_by_});
    const auto events = poller_.wait(listed_.empty() ? until : TimePoint{});
    const TimePoint now = io::now();
    for (const io::Ready& ready : events) on_ready(ready, now);
    expire(now);
    flush(now);
  }
  const TimePoint now = io::now();
  connections_.for_each([now](Connection& one) { one.part(Session::Farewell::restart, now); });
  connections_ = {};
}

void Edge::on_ready(const io::Ready& ready, TimePoint now) {
  if (ready.token == kInboxToken) return take_messages(now);
  if (ready.token.value < ConnectionTable::kFirst.value) {
    return accept(*listeners_.at(ready.token.value - kFirstListener), now);
  }
  if (Connection* connection = connections_.find({ready.token.value})) {
    connection->on_ready(ready, scratch_, now);
    list(*connection);
  }
}

void Edge::take_messages(TimePoint now) {
  inbox_.take(messages_);
  for (EdgeMessage& message : messages_) {
    std::visit([&](auto& body) { on(body, now); }, message);
  }
}

void Edge::on(core::Reply& reply, TimePoint now) {
  Connection* connection = connections_.find(reply.to.connection);
  if (connection == nullptr) return;
  connection->session().on_reply(reply.to.request, reply.body, now);
  list(*connection);
}

void Edge::on(core::Wake& wake, TimePoint) {
  constexpr std::size_t kAhead = 16;
  const std::span woken{wake.connections};
  for (std::size_t at = 0; at < woken.size(); ++at) {
    if (at + kAhead < woken.size()) prefetch(connections_.find(woken[at + kAhead]));
    if (Connection* connection = connections_.find(woken[at])) list(*connection);
  }
}

void Edge::on(NewConnection& accepted, TimePoint now) {
  const ConnectionId id = connections_.reserve();
  Shares::Place place = std::move(accepted.place);
  if (!poller_.add(accepted.socket, {id.value})) {
    connections_.release(id);
    return context_->counters.connections_open.subtract();
  }
  std::string address =
      context_->audit == nullptr ? std::string{} : io::peer_address(accepted.socket);
  Connection& connection = connections_.put(
      id, std::make_unique<Connection>(
              id, std::move(accepted.socket),
              std::make_unique<HttpSession>(*context_, id, now, std::move(address)),
              ConnectionOptions{.tls = context_->tls.get(),
                                .stall_timeout = context_->config.limits.stall_timeout,
                                .handshake_timeout = context_->config.limits.handshake_timeout},
              context_->counters, now));
  connection.occupy(std::move(place));
  list(connection);
}

void Edge::on(DrainEdge&, TimePoint now) {
  context_->draining = true;
  connections_.for_each([&](Connection& connection) {
    connection.session().on_drain(now);
    list(connection);
  });
}

void Edge::on(FinishEdge& finish, TimePoint now) {
  finishing_ = true;
  finish_by_ = finish.by;
  flush(now);  // What ended meanwhile is told first.
  connections_.for_each([&](Connection& connection) {
    connection.session().on_farewell(Session::Farewell::restart, now);
    list(connection);
  });
}

void Edge::on(ReloadEdge& reload, TimePoint now) {
  context_->config = *reload.config;
  context_->access = access_of(context_->config);
  context_->tls = std::move(reload.tls);
  connections_.for_each([&](Connection& connection) {
    if (connection.session().on_access(now)) list(connection);
  });
}

// Over the rate, nobody is refused: who comes waits in the kernel's backlog.
void Edge::accept(const io::Listener& listener, TimePoint now) {
  Door& door = context_->door;
  const std::uint32_t rate = context_->config.limits.accepts_per_second_max;
  for (int accepts = 0; !finishing_ && !context_->draining; ++accepts) {
    if (accepts == kAcceptsMax) {
      accept_at_ = now;
      return;
    }
    if (const auto later = door.accepts.hold_until(rate, now)) {
      accept_at_ = std::min(accept_at_, *later);
      held_ = true;
      return;
    }
    auto socket = listener.accept();
    if (!socket || !*socket) {
      door.accepts.put_back(rate);
      held_ = false;
      if (!socket) accept_at_ = std::min(accept_at_, now + kAcceptAgain);
      return;
    }
    if (std::exchange(held_, false)) context_->counters.count_limit(Limit::accepts);
    admit(std::move(**socket), now);
  }
}

// Before anything is read: whoever is too many costs as little as can be.
void Edge::admit(io::Fd socket, TimePoint now) {
  const ServerLimits& limits = context_->config.limits;
  Counters& counters = context_->counters;
  if (counters.connections_open.value() >= limits.connections_max) {
    return refuse(socket, Limit::connections);
  }
  auto place =
      context_->door.addresses.take(io::peer_network(socket), limits.connections_per_address_max);
  if (!place) return refuse(socket, Limit::address);
  counters.connections_accepted.add();
  counters.connections_open.add();
  EdgeInbox& inbox = *inboxes_[next_inbox_++ % inboxes_.size()];
  NewConnection accepted{std::move(socket), *std::move(place)};
  if (&inbox == &inbox_) {
    on(accepted, now);
  } else {
    inbox.post(std::move(accepted));
  }
}

// Takes what has come first: a socket that is closed before it was read is reset,
// and the answer may be lost.
void Edge::refuse(const io::Fd& socket, Limit met) {
  context_->counters.connections_refused.add();
  context_->counters.count_limit(met);
  (void)io::receive(socket, std::span{scratch_.input.get(), Scratch::kReadBytes});
  (void)io::send(socket, too_many_answer(met, context_->config.limits));
  io::shutdown_send(socket);
}

void Edge::expire(TimePoint now) {
  if (now >= accept_at_) {
    accept_at_ = kNever;
    for (const io::Listener* listener : listeners_) accept(*listener, now);
  }
  due_.clear();
  deadlines_.take(now, kDeadlineMovesMax, due_);
  for (const std::uint32_t place : due_) {
    Connection* connection = connections_.find_at(place);
    if (connection == nullptr) continue;
    connection->scheduled = kNever;
    connection->on_time(now);
    list(*connection);
  }
}

void Edge::flush(TimePoint now) {
  std::swap(listed_, flushing_);
  for (std::span<Connection* const> rest{flushing_}; !rest.empty();) {
    const auto group = rest.first(std::min(rest.size(), Scratch::kOutputs));
    rest = rest.subspan(group.size());
    flush(group, now);
  }
  flushing_.clear();
}

// Step by step: what one needs of memory, much of which the core wrote last, comes while the
// others have their turn.
void Edge::flush(std::span<Connection* const> group, TimePoint now) {
  const std::size_t bytes_max = context_->config.limits.render_bytes_max;
  std::array<io::Moved, Scratch::kOutputs> moved;
  for (std::size_t steps = Connection::kStepsAhead; steps > 0; --steps) {
    for (const Connection* connection : group) connection->look_ahead(steps);
  }
  for (std::size_t at = 0; at < group.size(); ++at) {
    group[at]->listed = false;
    group[at]->prepare(scratch_, scratch_.outputs[at], bytes_max, now);
  }
  for (std::size_t at = 0; at < group.size(); ++at) {
    moved[at] = group[at]->send(scratch_.outputs[at]);
  }
  for (std::size_t at = 0; at < group.size(); ++at) {
    Connection& connection = *group[at];
    const bool more = connection.settle(scratch_, scratch_.outputs[at], moved[at], bytes_max, now);
    if (connection.closed()) {
      deadlines_.erase(ConnectionTable::place_of(connection.id()));
      connections_.release(connection.id());
      continue;
    }
    schedule(connection, now);
    if (more) list(connection);
  }
}

void Edge::list(Connection& connection) {
  if (!std::exchange(connection.listed, true)) listed_.push_back(&connection);
}

void Edge::schedule(Connection& connection, TimePoint now) {
  const auto entry = sooner_entry(connection.deadline(), connection.scheduled, now);
  if (!entry) return;
  connection.scheduled = *entry;
  deadlines_.set(ConnectionTable::place_of(connection.id()), *entry);
}

}  // namespace seedance::server
