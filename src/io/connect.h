// Connections to others.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "io/fd.h"

namespace seedance::io {

// Where a server listens.
class Endpoint {
 public:
  // The first address of the host that takes a connection by `until`; it is closed
  // again. Waits for the system's resolver and for the server. Not_found for a host
  // that means nothing, disconnected where nobody answers.
  static Result<Endpoint> reach(const std::string& host, std::uint16_t port, TimePoint until);

  // Begins to connect, without waiting. The socket becomes writable when that is
  // decided; connect_result() tells how.
  Result<Fd> connect() const;

 private:
  Endpoint() = default;

  sockaddr_storage address_{};
  socklen_t bytes_ = 0;
};

// Disconnected, with the system's words, where the connection was not made.
Result<void> connect_result(const Fd& socket);

}  // namespace seedance::io
