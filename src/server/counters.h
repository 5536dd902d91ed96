// What the edges count.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "observe/metric.h"
#include "server/route.h"

namespace seedance::server {

// Any thread counts and reads.
struct Counters {
  observe::SharedCounter connections_accepted;
  observe::SharedCounter connections_refused;  // Over the limit.
  observe::SharedCounter connections_open;     // Goes down again.
  observe::SharedCounter websockets_open;      // Likewise.
  observe::SharedCounter bytes_received;
  observe::SharedCounter bytes_sent;
  observe::SharedCounter sends;          // System calls that sent something ...
  observe::SharedCounter sends_blocked;  // ... and those that could not send all.
  observe::SharedCounter messages_received;

  // Answers by route and by the first digit of their status.
  std::array<std::array<observe::SharedCounter, 6>, kRouteCount> requests;

  void count_request(Route route, int status);
};

// Prometheus text of all of them, as seedance_*.
void append_text(std::string& out, const Counters& counters);

}  // namespace seedance::server
