// What the edges count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "auth/refusal.h"
#include "observe/metric.h"
#include "server/route.h"

namespace seedance::server {

// How a reader came to a stream that was there.
enum class ResumeCause : std::uint8_t {
  native,  // RESUME.
  sse,     // GET /v1/streams/{id}.
  key,     // A request with the idempotency key of an earlier one.
};
inline constexpr std::size_t kResumeCauseCount = 3;

// Limits on connections and on how requests arrive: what somebody met.
enum class Limit : std::uint8_t {
  connections,
  address,
  tenant,
  accepts,
  pings,
  idle,
  headers,
  target,
  arrival,
};
inline constexpr std::size_t kLimitCount = 9;

// Any thread counts and reads.
struct Counters {
  observe::SharedCounter connections_accepted;
  observe::SharedCounter connections_refused;  // Over a limit.
  observe::SharedCounter connections_stalled;  // Closed: they took nothing for stall_timeout.
  observe::SharedCounter connections_open;     // Goes down again.
  observe::SharedCounter websockets_open;      // Likewise.
  observe::SharedCounter tls_handshakes;
  observe::SharedCounter tls_handshakes_failed;  // Or not done in time.
  observe::SharedCounter bytes_received;
  observe::SharedCounter bytes_sent;
  observe::SharedCounter sends;          // System calls that sent something ...
  observe::SharedCounter sends_blocked;  // ... and those that could not send all.
  observe::SharedCounter messages_received;
  observe::SharedCounter requests_waiting;   // In their connections. Goes down again.
  observe::SharedCounter stream_limits_met;  // Refused there.
  observe::SharedCounter tickets_refused;

  // What the self-check of every reader found. Both stay 0.
  observe::SharedCounter seq_gaps;      // A chunk did not begin where the one before it ended.
  observe::SharedCounter frame_losses;  // A stream's end was told without all of its tokens.

  std::array<observe::SharedCounter, kResumeCauseCount> resumes;
  std::array<observe::SharedCounter, auth::kRefusalCount> refusals;  // At the door.
  std::array<observe::SharedCounter, kLimitCount> limits_met;

  // Answers by route and by the first digit of their status.
  std::array<std::array<observe::SharedCounter, 6>, kRouteCount> requests;

  void count_request(Route route, int status);
  void count_resume(ResumeCause cause);
  void count_refusal(auth::Refusal cause);
  void count_limit(Limit met);
};

// Prometheus text of all of them, as seedance_*.
void append_text(std::string& out, const Counters& counters);

}  // namespace seedance::server
