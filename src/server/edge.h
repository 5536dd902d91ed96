// An I/O thread and the connections that are its own for life.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/messages.h"
#include "io/mailbox.h"
#include "io/poller.h"
#include "io/socket.h"
#include "server/connection.h"
#include "server/connection_table.h"
#include "server/context.h"
#include "server/deadlines.h"
#include "server/shares.h"

namespace seedance::server {

// What an edge is told.
struct NewConnection {
  io::Fd socket;
  Shares::Place place;  // Of its address.
};
// Nothing new: listeners stay open and are left alone; each connection ends when
// what runs on it has ended.
struct DrainEdge {};
struct FinishEdge {
  TimePoint by;  // What is still open then is closed.
};
struct ReloadEdge {
  std::unique_ptr<const ServerConfig> config;  // From here on.
  std::shared_ptr<const io::TlsContext> tls;   // As EdgeContext has it.
};
using EdgeMessage =
    std::variant<core::Reply, core::Wake, NewConnection, DrainEdge, FinishEdge, ReloadEdge>;
using EdgeInbox = io::Mailbox<EdgeMessage>;

// The loop of one edge: sleeps until a socket, the inbox or a deadline has
// something; lets all of it reach the sessions; then flushes each connection
// that something happened to, once. Nobody takes more than a turn: what is left
// then waits for the next round. run() belongs to one thread.
class Edge {
 public:
  // An edge with listeners deals the connections that it accepts out to `inboxes`
  // in turn. Everything given outlives the edge.
  static Result<std::unique_ptr<Edge>> open(std::unique_ptr<EdgeContext> context, EdgeInbox& inbox,
                                            std::vector<const io::Listener*> listeners,
                                            std::span<const std::unique_ptr<EdgeInbox>> inboxes);

  // Until FinishEdge was told and the connections are closed.
  void run();

 private:
  Edge(std::unique_ptr<EdgeContext> context, EdgeInbox& inbox,
       std::vector<const io::Listener*> listeners,
       std::span<const std::unique_ptr<EdgeInbox>> inboxes, io::Poller poller);

  void on_ready(const io::Ready& ready, TimePoint now);
  void take_messages(TimePoint now);
  void on(core::Reply& reply, TimePoint now);
  void on(core::Wake& wake, TimePoint now);
  void on(NewConnection& connection, TimePoint now);
  void on(DrainEdge& drain, TimePoint now);
  void on(FinishEdge& finish, TimePoint now);
  void on(ReloadEdge& reload, TimePoint now);
  void accept(const io::Listener& listener, TimePoint now);
  void admit(io::Fd socket, TimePoint now);
  void refuse(const io::Fd& socket, Limit met);
  void expire(TimePoint now);
  void flush(TimePoint now);
  void flush(std::span<Connection* const> group, TimePoint now);
  void list(Connection& connection);
  void schedule(Connection& connection, TimePoint now);

  const std::unique_ptr<EdgeContext> context_;
  EdgeInbox& inbox_;
  const std::vector<const io::Listener*> listeners_;
  std::span<const std::unique_ptr<EdgeInbox>> inboxes_;
  io::Poller poller_;
  Scratch scratch_;
  ConnectionTable connections_;
  Deadlines deadlines_;                // By place in the table.
  std::vector<std::uint32_t> due_;     // Places.
  std::vector<Connection*> listed_;    // To be flushed.
  std::vector<Connection*> flushing_;  // Were listed.
  std::vector<EdgeMessage> messages_;
  std::size_t next_inbox_;
  TimePoint accept_at_ = kNever;  // More may wait then, or a descriptor be free.
  TimePoint finish_by_ = kNever;
  bool held_ = false;  // The rate did not let the next one in yet.
  bool finishing_ = false;
};

}  // namespace seedance::server
