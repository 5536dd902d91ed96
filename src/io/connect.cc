#include "io/connect.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "io/clock.h"
#include "io/poller.h"
#include "io/system_error.h"

namespace seedance::io {

namespace {

// How an attempt to connect ended.
Result<void> outcome(const Result<Fd>& socket, TimePoint until) {
  if (!socket) return std::unexpected(socket.error());
  auto poller = Poller::open();
  if (!poller) return std::unexpected(poller.error());
  if (auto added = poller->add(*socket, {}); !added) return added;
  do {
    for (const Ready& ready : poller->wait(until)) {
      if (ready.writable || ready.closed) return connect_result(*socket);
    }
  } while (now() < until);
  return fail(Errc::disconnected, "it does not answer");
}

}  // namespace

Result<Endpoint> Endpoint::reach(const std::string& host, std::uint16_t port, TimePoint until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(Errc::not_found,
                fmt::format("host '{}' is no address: {}", host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned{found, &freeaddrinfo};
  Result<void> last;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address_, next->ai_addr, next->ai_addrlen);
    endpoint.bytes_ = next->ai_addrlen;
    last = outcome(endpoint.connect(), until);
    if (last) return endpoint;
  }
  return std::unexpected(last.error());
}

Result<Fd> Endpoint::connect() const {
  Fd socket{::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!socket.is_open()) return system_failure("socket");
  const int on = 1;
  // A refinement: without it small writes may wait for each other.
  (void)setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto* const address = reinterpret_cast<const sockaddr*>(&address_);
  if (::connect(socket.get(), address, bytes_) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return system_failure("connect");
  }
  return socket;
}

Result<void> connect_result(const Fd& socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return {};
  return fail(Errc::disconnected, std::generic_category().message(error));
}

}  // namespace seedance::io
