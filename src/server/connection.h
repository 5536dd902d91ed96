// A client's connection: its socket and the session on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/id.h"
#include "base/time.h"
#include "io/channel.h"
#include "io/poller.h"
#include "server/counters.h"
#include "server/session.h"
#include "server/shares.h"

namespace seedance::server {

// The buffers that the connections of one edge take turns in.
struct Scratch {
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;

  std::unique_ptr<std::byte[]> input = std::make_unique<std::byte[]>(kReadBytes);
  Rendering output;
};

struct ConnectionOptions {
  const io::TlsContext* tls = nullptr;                    // Read while the connection is made only.
  Duration stall_timeout = std::chrono::seconds{60};      // The peer took nothing for so long.
  Duration handshake_timeout = std::chrono::seconds{10};  // Of TLS, in all.
};

// Moves bytes between one socket and one session. Idle, it owns no buffer.
// Belongs to the thread of its edge, which calls flush() after everything else.
class Connection {
 public:
  // About what it reads, and what it sends, before the others of its edge have their turn.
  static constexpr std::size_t kTurnBytes = 2 * Scratch::kReadBytes;

  Connection(ConnectionId id, io::Fd socket, std::unique_ptr<Session> session,
             const ConnectionOptions& options, Counters& counters, TimePoint now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // It counts for its address until it is closed.
  void occupy(Shares::Place place) { address_place_ = std::move(place); }

  ConnectionId id() const { return id_; }
  Session& session() { return *session_; }

  void on_ready(const io::Ready& ready, Scratch& scratch, TimePoint now);

  void on_time(TimePoint now);
  TimePoint deadline() const;

  // Reads what the session did not want before, renders and sends until there
  // is nothing left, the socket is full or its turn is over. Ends the turn; true
  // when there may be more to do in the next one.
  bool flush(Scratch& scratch, std::size_t bytes_max, TimePoint now);

  // Closes now and says why: the kernel takes the last words of a peer that is behind.
  void part(Session::Farewell why, TimePoint now);

  // It is flushed so many turns after this.
  static constexpr std::size_t kTurnsAhead = Session::kTurnsAhead + 2;
  void look_ahead(std::size_t turns) const;

  bool closed() const { return closed_; }

  // For the edge: whether it is on its list, and the deadline that it has an entry for,
  // which is not later than deadline(): one that moves away with every message stays.
  bool listed = false;
  TimePoint scheduled = kNever;

 private:
  void on_writable(TimePoint now);
  bool may_read() const { return readable_ || hung_up_ || ended_; }
  void read(Scratch& scratch, TimePoint now);
  void tell_end(TimePoint now);
  void on_handshake(TimePoint now);
  void upgrade(TimePoint now);
  bool send_once(Rendering& out, TimePoint now);
  void end_as_asked(bool more);
  void block(TimePoint now);
  void keep(Rendering& out, std::size_t sent);
  void close();

  // What every frame needs comes first, in few cache lines.
  ConnectionId id_;
  std::unique_ptr<Session> session_;
  Counters* counters_;
  io::Channel channel_;
  std::string unsent_;             // The rest of what the channel took in part.
  TimePoint stalled_at_ = kNever;  // When it is given up.
  TimePoint handshake_by_ = kNever;
  std::size_t to_read_ = kTurnBytes;  // In this turn.
  bool readable_ = false;             // There may be more to read.
  bool hung_up_ = false;              // The poller says that the peer sends no more.
  bool ended_ = false;                // Nothing more is read ...
  bool end_told_ = false;             // ... and the session knows.
  bool rests_ = false;                // The session goes on in the next turn.
  bool blocked_ = false;
  bool half_closed_ = false;
  bool upgraded_ = false;  // Once at most.
  bool closed_ = false;
  Duration stall_timeout_;
  Shares::Place address_place_;
  Shares::Place tenant_place_;  // Of a WebSocket.
};

}  // namespace seedance::server
