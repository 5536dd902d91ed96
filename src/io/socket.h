// Stream sockets that never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// What one call moved. Less than what was offered means that the socket is
// `blocked` for now, or `closed`: at its end, reset, or broken. Where a poller
// reported `closed`, a short read is not the last: read until it says so too.
struct Moved {
  enum class Flow : std::uint8_t { open, blocked, closed };

  std::size_t bytes = 0;
  Flow flow = Flow::open;
};

Moved receive(const Fd& socket, std::span<std::byte> into);
Moved send(const Fd& socket, std::string_view bytes);

// For the last words before the socket is closed: it takes so many bytes more although
// the peer is behind and its buffer is as full as it may be.
void make_room(const Fd& socket, std::size_t bytes);

// Says to the peer that nothing more comes; reading goes on.
void shutdown_send(const Fd& socket);

struct ListenOptions {
  std::string host;                      // An address, or a name that means one.
  std::uint16_t port = 0;                // 0 = any free one.
  std::size_t send_buffer_bytes = 0;     // Of each connection; 0 = the system decides.
  std::size_t unsent_bytes_max = 16384;  // TCP_NOTSENT_LOWAT of each connection.
};

// Accepts TCP connections, IPv4 or IPv6. All settings are the listening
// socket's and inherited, so that accepting is one system call.
class Listener {
 public:
  // Errors name host and port: the port is taken, the host means nothing.
  static Result<Listener> open(const ListenOptions& options);

  // `count` of them on one address, among which the system spreads connections
  // (SO_REUSEPORT). The address is as taken as with open().
  static Result<std::vector<Listener>> open_group(const ListenOptions& options, std::size_t count);

  // Takes over a socket that somebody else opened and that listens already, with
  // what may wait in its backlog. Host and port of the options mean nothing.
  static Result<Listener> adopt(Fd socket, const ListenOptions& options);

  const Fd& fd() const { return fd_; }
  std::uint16_t port() const { return port_; }
  // As in a URL: an IPv6 address has brackets.
  const std::string& address() const { return address_; }
  Fd take_fd() && { return std::move(fd_); }

  // A connection, if one waits. Error: overloaded (no descriptor is free).
  Result<std::optional<Fd>> accept() const;

 private:
  Listener(Fd fd, std::string address, std::uint16_t port)
      : fd_(std::move(fd)), address_(std::move(address)), port_(port) {}

  Fd fd_;
  std::string address_;
  std::uint16_t port_;
};

}  // namespace seedance::io
