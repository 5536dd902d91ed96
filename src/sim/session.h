// A connection, as the server's edge has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "core/messages.h"
#include "sim/referee.h"
#include "sim/world.h"
#include "stream/token_log.h"
#include "wire/ws_connection.h"

namespace seedance::sim {

// Bugs planted on purpose, to see that the simulation finds them.
enum class Canary : std::uint8_t {
  none,
  shown_early,     // The core is told that a batch is written before it is.
  resume_behind,   // A resumed reader begins one token too late.
  detach_cancels,  // Who loses its connection loses its streams.
  any_tenant,      // Resume and cancel take everybody for the owner.
  keys_dropped,    // Idempotency keys are not looked at.
  end_untold,      // A reader that has all tokens is not told that it was all.
  wakes_dropped,   // An edge looks at its readers when something else happens.
};

std::optional<Canary> parse_canary(std::string_view name);

// Where a reader that asked for `from` begins.
Offset begin_of(Canary canary, Offset from, const stream::TokenLog& log);

struct EdgePlan {
  wire::WsLimits websocket = {};
  Duration stall_timeout = std::chrono::seconds{60};
  std::size_t pending_bytes_max = 4096;
  std::size_t render_bytes_max = 16384;
  std::size_t frame_bytes_max = 4096;
  std::uint32_t streams_max = 32;
  Duration merge{};
  Canary canary = Canary::none;
};

// What the sessions of one edge share.
struct EdgeContext {
  World& world;
  Referee& referee;
  const EdgePlan& plan;
  core::EdgeId edge;
  std::vector<core::Message> to_core = {};
};

// Whether a reader is told of what the core committed. Others look at its log now and
// then, so that a wake that is missing is only late: this notices.
class WakeCheck {
 public:
  // The core has had a turn; `news`: there is something to be shown.
  void on_core_turn(bool news, TimePoint now);
  // The reader is looked at: because of mail of the core, or for another reason.
  void on_mail() { news_at_ = kNever; }
  [[nodiscard]] bool on_other(TimePoint now) const {
    return now < news_at_ || now - news_at_ < kMailMax;
  }

 private:
  static constexpr Duration kMailMax = std::chrono::milliseconds{100};

  TimePoint news_at_ = kNever;
};

// One protocol on one connection: what server::Connection and its session are with a
// socket. Belongs to its edge.
class Session {
 public:
  virtual ~Session() = default;

  virtual void on_reply(std::uint64_t request, core::ReplyBody& body) = 0;
  // A log that it reads grew. Nobody else tells.
  virtual void on_wake() = 0;
  // Logs may have grown, and if so, a wake is under way.
  virtual void on_core_turn() = 0;
  virtual void on_drain(Duration reconnect_within) = 0;
  // Closes, when what runs here can wait for no longer.
  virtual void on_drain_timeout() = 0;

  // Something happened to it that a turn is for.
  virtual bool due() const = 0;
  // Everything that is to be done now.
  virtual void turn() = 0;
  virtual TimePoint deadline() const = 0;
  virtual bool closed() const = 0;

  // The process dies.
  virtual void die() = 0;
};

}  // namespace seedance::sim
