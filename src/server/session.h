// What runs on a connection: HTTP, or after an upgrade WebSocket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/messages.h"
#include "io/tls.h"
#include "server/shares.h"
#include "stream/token_log.h"

namespace seedance::server {

using core::ReplyBody;

// In the audit log: whoever asked was gone before the core had answered.
inline constexpr std::string_view kUnanswered = "unanswered";

// What is about to be sent with one call. Up to `fixed` it goes or is kept for
// later, byte by byte. Behind that are frames that were rendered from logs: of
// those, what the socket does not take is rendered again later, from the cursor
// before it; only the rest of a frame that went in part is kept.
struct Rendering {
  struct Frame {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t request = 0;  // Whose cursor it moved ...
    stream::Cursor before;      // ... from here.
  };

  std::string bytes;
  std::size_t fixed = 0;
  std::vector<Frame> frames;

  void clear();
};

// One protocol on one connection: knows no socket. The connection reports what
// happened, then renders until nothing comes, and comes back no later than
// deadline(). Belongs to the thread of its edge.
class Session {
 public:
  enum class Ending : std::uint8_t {
    open,
    half_close,  // When all is sent, stop sending, and go on reading.
    close,       // When all is sent, close.
    drop,        // Close at once.
  };

  // The session that takes over, and what came in behind the upgrade.
  struct Upgrade {
    std::unique_ptr<Session> session;
    std::string response;  // To be sent first, behind answers that were not sent yet.
    std::string rest;
    Shares::Place place = {};  // Of its tenant.
  };

  // Why the server ends a connection.
  enum class Farewell : std::uint8_t {
    stalled,  // The peer takes nothing.
    restart,  // The server goes.
  };

  virtual ~Session() = default;

  // The bytes may be changed and are used up on return. Only while
  // wants_input(); one call more may come with what was read already.
  virtual void on_input(std::span<std::byte> bytes, TimePoint now) = 0;
  virtual bool wants_input() const = 0;

  // Input that came is kept here and will be served without more of it: the end that
  // the peer sent behind it is told afterwards.
  virtual bool rests() const { return false; }
  // The turn of the connection is over. True when input is kept only for that: go_on()
  // is called in the next turn.
  virtual bool end_turn() { return false; }
  virtual void go_on(TimePoint /*now*/) {}

  // The peer has shown a certificate, which was verified. Before any bytes.
  virtual void on_certificate(const io::PeerCertificate&) {}

  // The peer sends no more, or is gone.
  virtual void on_end(TimePoint now) = 0;

  // The core's answer to request number `request` of this connection.
  virtual void on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) = 0;

  virtual void on_time(TimePoint now) = 0;
  virtual TimePoint deadline() const = 0;

  // The socket takes no more; takes some again.
  virtual void on_blocked(TimePoint now) = 0;
  virtual void on_unblocked(TimePoint now) = 0;

  // The server stops: end when what runs here has ended.
  virtual void on_drain(TimePoint now) = 0;
  // The connection ends now, whatever runs here: says so if its protocol can.
  virtual void on_farewell(Farewell why, TimePoint now) = 0;

  // Who may come in has changed. True when the session ends for it, and so has something
  // to say.
  virtual bool on_access(TimePoint /*now*/) { return false; }

  // Appends what is to be sent now, about `bytes_max` of it.
  virtual void render(Rendering& out, std::size_t bytes_max, TimePoint now) = 0;
  // Undoes the rendering of a frame, the last one first.
  virtual void take_back(const Rendering::Frame& frame) = 0;
  // Everything else that was rendered is on its way.
  virtual void on_sent(TimePoint now) = 0;
  // Whether there may be more to render, for all that this session knows.
  virtual bool has_more() const { return true; }

  // It is rendered soon, after so many more of these: what each step needs of memory that
  // others write lies behind what the one before it needs. Changes nothing.
  static constexpr std::size_t kStepsAhead = 3;
  virtual void look_ahead(std::size_t /*steps*/) const {}

  virtual Ending ending() const = 0;

  // The connection closes: whatever it asked for, nobody waits for it here.
  virtual void on_gone() = 0;

  // Once, when the client switched protocols; empty otherwise.
  virtual Upgrade take_upgrade() = 0;
};

}  // namespace seedance::server
