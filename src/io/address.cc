#include "io/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace seedance::io {
namespace {

constexpr std::uint32_t kLoopbackNet = 127;

bool is_loopback(const in_addr& address) {
  return ntohl(address.s_addr) >> 24 == kLoopbackNet;
}

bool is_loopback(const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return IN6_IS_ADDR_LOOPBACK(&address);
  in_addr mapped{};
  std::memcpy(&mapped, &address.s6_addr[12], sizeof(mapped));
  return is_loopback(mapped);
}

}  // namespace

std::string peer_address(const Fd& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (name.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(name);
    inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(address.sin6_port));
  }
  if (name.ss_family != AF_INET) return {};
  const auto& address = reinterpret_cast<const sockaddr_in&>(name);
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(address.sin_port));
}

std::string network_of(const sockaddr& address) {
  constexpr std::size_t kPrefixBytes = 8;
  constexpr std::size_t kMappedAt = 12;
  const auto bytes = [](const auto& from, std::size_t at, std::size_t count) {
    return std::string{reinterpret_cast<const char*>(&from) + at, count};
  };
  if (address.sa_family == AF_INET) {
    return bytes(reinterpret_cast<const sockaddr_in&>(address).sin_addr, 0, sizeof(in_addr));
  }
  if (address.sa_family != AF_INET6) return {};
  const in6_addr& wide = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&wide)) return bytes(wide, kMappedAt, sizeof(in_addr));
  return bytes(wide, 0, kPrefixBytes);
}

std::string peer_network(const Fd& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  return network_of(reinterpret_cast<const sockaddr&>(name));
}

bool is_on_loopback(const Fd& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return false;
  if (name.ss_family == AF_INET6) {
    return is_loopback(reinterpret_cast<const sockaddr_in6&>(name).sin6_addr);
  }
  return name.ss_family == AF_INET &&
         is_loopback(reinterpret_cast<const sockaddr_in&>(name).sin_addr);
}

}  // namespace seedance::io
