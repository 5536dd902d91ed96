// Carries out a load run: sockets, time and signals.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/tls_client.h"
#include "load/api.h"
#include "load/requests.h"
#include "load/schedule.h"
#include "load/statistics.h"

namespace seedance::loadgen {

struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string path;
  std::string api_key;
  Api api = Api::native;
  bool keep_alive = true;  // Of the HTTP APIs: a connection carries one request after the other.
  std::optional<io::TlsClientOptions> tls{};  // Where it speaks TLS.
};

struct RunOptions {
  Target target;
  Shape shape;
  Slo slo;
  std::uint64_t connections = 8;  // Over WebSocket: streams share them.
  std::uint64_t seed = 1;
  Duration timeout = std::chrono::minutes{10};  // For a request, once it is sent.
};

struct Progress {
  Duration elapsed{};
  std::uint64_t sent = 0;
  std::uint64_t in_flight = 0;
  bool over = false;  // Nothing more is sent.
};

struct RunResult {
  Statistics statistics;
  TimePoint end;
  Duration elapsed{};
  Duration cpu{};       // Of this process, in the window, or in all where there is none ...
  Duration cpu_over{};  // ... which is so long.
  bool interrupted = false;
};

// Runs the load from this thread alone until it is over, or until SIGINT or SIGTERM
// ends it early, which counts what runs as neither done nor failed. `progress`, if it
// is there, is called every second. An error means that nothing could be asked: there
// is no server, it is not trusted, or it refuses the WebSocket.
Result<RunResult> run(const RunOptions& options, const Requests& requests,
                      const std::function<void(const Progress&, const Statistics&)>& progress);

}  // namespace seedance::loadgen
