#include "io/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "base/bytes.h"
#include "io/system_error.h"

namespace seedance::io {
namespace {

using Flow = Moved::Flow;
using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

constexpr int kBacklog = 4096;  // The kernel lowers it to net.core.somaxconn.
constexpr int kKeepAliveSeconds = 60;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

// The C library's send() is a point where a thread may be cancelled, which costs a program
// that has threads two locked instructions.
ssize_t send_some(const Fd& socket, std::string_view bytes) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);  // Which they look at.
#endif
  return syscall(SYS_sendto, socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, nullptr, 0L);
}

void set_option(const Fd& socket, int level, int option, int value) {
  // Each is a refinement: without it the connection works, only less well.
  (void)setsockopt(socket.get(), level, option, &value, sizeof(value));
}

Result<AddressList> resolve(const ListenOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(options.port);
  const int error = getaddrinfo(options.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return fail(Errc::not_found,
                fmt::format("host '{}' is no address: {}", options.host, gai_strerror(error)));
  }
  return AddressList{found, &freeaddrinfo};
}

void configure(const Fd& socket, const ListenOptions& options) {
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds / 4);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(options.unsent_bytes_max));
  if (options.send_buffer_bytes > 0) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(options.send_buffer_bytes));
  }
}

struct Bound {
  std::string address;
  std::uint16_t port = 0;
};

void set_port(sockaddr_storage& address, std::uint16_t port) {
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  }
}

int option(const Fd& socket, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(socket.get(), SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool listens(const Fd& socket) {
  const int domain = option(socket, SO_DOMAIN);
  return option(socket, SO_ACCEPTCONN) == 1 && option(socket, SO_PROTOCOL) == IPPROTO_TCP &&
         (domain == AF_INET || domain == AF_INET6);
}

Result<Bound> bound_to(const Fd& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return system_failure("getsockname");
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int error = getnameinfo(reinterpret_cast<sockaddr*>(&name), size, host.data(), host.size(),
                                port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) return fail(Errc::invalid, fmt::format("getnameinfo: {}", gai_strerror(error)));
  std::string address{host.data()};
  if (name.ss_family == AF_INET6) address = fmt::format("[{}]", address);
  return Bound{std::move(address), static_cast<std::uint16_t>(std::stoul(port.data()))};
}

}  // namespace

Moved receive(const Fd& socket, std::span<std::byte> into) {
  ssize_t count = 0;
  do count = recv(socket.get(), into.data(), into.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) return {.flow = would_block() ? Flow::blocked : Flow::closed};
  if (count == 0) return {.flow = into.empty() ? Flow::open : Flow::closed};
  const auto bytes = static_cast<std::size_t>(count);
  return {.bytes = bytes, .flow = bytes < into.size() ? Flow::blocked : Flow::open};
}

Moved send(const Fd& socket, std::string_view bytes) {
  ssize_t count = 0;
  do count = send_some(socket, bytes);
  while (count < 0 && errno == EINTR);
  if (count < 0) return {.flow = would_block() ? Flow::blocked : Flow::closed};
  const auto sent = static_cast<std::size_t>(count);
  return {.bytes = sent, .flow = sent < bytes.size() ? Flow::blocked : Flow::open};
}

void make_room(const Fd& socket, std::size_t bytes) {
  set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, std::numeric_limits<int>::max());
  int doubled = 0;  // What the kernel gives is twice what it takes.
  socklen_t size = sizeof(doubled);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &doubled, &size) == 0) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, doubled + static_cast<int>(bytes));
  }
}

void shutdown_send(const Fd& socket) {
  (void)shutdown(socket.get(), SHUT_WR);
}

Result<Listener> Listener::open(const ListenOptions& options) {
  auto group = open_group(options, 1);
  if (!group) return std::unexpected(group.error());
  return std::move(group->front());
}

Result<std::vector<Listener>> Listener::open_group(const ListenOptions& options,
                                                   std::size_t count) {
  const auto addresses = resolve(options);
  if (!addresses) return std::unexpected(addresses.error());
  sockaddr_storage address{};
  const socklen_t size = (*addresses)->ai_addrlen;
  std::memcpy(&address, (*addresses)->ai_addr, size);
  std::vector<Listener> group;
  while (group.size() < count) {
    Fd socket{::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket.is_open()) return system_failure("socket");
    configure(socket, options);
    // The first is bound before it shares: so no two servers share an address unawares.
    if (!group.empty()) set_option(socket, SOL_SOCKET, SO_REUSEPORT, 1);
    const int bound = bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
    if (bound == 0 && count > 1) set_option(socket, SOL_SOCKET, SO_REUSEPORT, 1);
    if (bound != 0 || listen(socket.get(), kBacklog) != 0) {
      return system_failure(fmt::format("cannot listen on {}:{}", options.host, options.port));
    }
    auto name = bound_to(socket);
    if (!name) return std::unexpected(name.error());
    set_port(address, name->port);
    group.push_back(Listener{std::move(socket), std::move(name->address), name->port});
  }
  return group;
}

Result<Listener> Listener::adopt(Fd socket, const ListenOptions& options) {
  if (!listens(socket)) {
    return fail(Errc::invalid,
                fmt::format("descriptor {} is no listening TCP socket", socket.get()));
  }
  if (fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) return system_failure("fcntl");
  configure(socket, options);
  auto name = bound_to(socket);
  if (!name) return std::unexpected(name.error());
  return Listener{std::move(socket), std::move(name->address), name->port};
}

Result<std::optional<Fd>> Listener::accept() const {
  for (;;) {
    Fd socket{accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (socket.is_open()) return socket;
    if (would_block()) return std::nullopt;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      return system_failure("accept");
    }
    // Whatever else is about that one connection (accept(2)): take the next.
  }
}

}  // namespace seedance::io
