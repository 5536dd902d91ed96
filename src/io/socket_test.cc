#include "io/socket.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "base/bytes.h"
#include "io/poller.h"

namespace seedance::io {
namespace {

Fd connect_to(std::uint16_t port) {
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

int option(const Fd& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(socket.get(), level, name, &value, &size), 0);
  return value;
}

// Waits for the connection that a client has made.
Fd accept_from(const Listener& listener) {
  auto poller = Poller::open();
  EXPECT_TRUE(poller->add(listener.fd(), {1}));
  for (;;) {
    auto accepted = listener.accept();
    EXPECT_TRUE(accepted);
    if (*accepted) return std::move(**accepted);
    poller->wait(kNever);
  }
}

TEST(Listener, AcceptsAndBothEndsTalk) {
  const auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  EXPECT_NE(listener->port(), 0);
  EXPECT_EQ(listener->address(), "127.0.0.1");
  EXPECT_FALSE(*listener->accept());
  const Fd client = connect_to(listener->port());
  const Fd server = accept_from(*listener);
  std::array<std::byte, 16> buffer;
  EXPECT_EQ(receive(server, buffer).flow, Moved::Flow::blocked);
  EXPECT_EQ(send(server, "hi").bytes, 2U);
  EXPECT_EQ(recv(client.get(), buffer.data(), buffer.size(), 0), 2);
  shutdown_send(server);
  EXPECT_EQ(recv(client.get(), buffer.data(), buffer.size(), 0), 0);
}

TEST(Socket, TakesTheLastWordsOfAFullOne) {
  const auto listener = Listener::open({.host = "127.0.0.1", .send_buffer_bytes = 4096});
  ASSERT_TRUE(listener);
  const Fd client = connect_to(listener->port());
  const Fd server = accept_from(*listener);
  const std::string bytes(4096, 'x');
  std::size_t sent = 0;
  for (Moved moved; moved.flow == Moved::Flow::open; sent += moved.bytes) {
    moved = send(server, bytes);
  }
  EXPECT_EQ(send(server, "bye").flow, Moved::Flow::blocked);
  make_room(server, 3);
  EXPECT_EQ(send(server, "bye").bytes, 3U);
  std::string got(sent + 3, '\0');
  EXPECT_EQ(recv(client.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(got.size()));
  EXPECT_TRUE(got.ends_with("xbye"));
}

TEST(Listener, ConnectionsInheritItsSettings) {
  const auto listener = Listener::open({.host = "localhost", .send_buffer_bytes = 64 << 10});
  ASSERT_TRUE(listener);
  const Fd client = connect_to(listener->port());
  const Fd server = accept_from(*listener);
  EXPECT_EQ(option(server, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(server, IPPROTO_TCP, TCP_KEEPIDLE), 60);
  EXPECT_EQ(option(server, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 16384);
  EXPECT_EQ(option(server, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(server, SOL_SOCKET, SO_SNDBUF), 2 * (64 << 10));  // The kernel doubles it.
}

TEST(Listener, RefusesATakenPortByName) {
  const auto first = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(first);
  const auto second = Listener::open({.host = "127.0.0.1", .port = first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().detail, fmt::format("cannot listen on 127.0.0.1:{}: Address already "
                                               "in use",
                                               first->port()));
}

TEST(Listener, RefusesAHostThatMeansNothing) {
  const auto listener = Listener::open({.host = "256.1.1.1.invalid"});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Errc::not_found);
  EXPECT_NE(listener.error().detail.find("256.1.1.1.invalid"), std::string::npos);
}

TEST(Listener, AGroupSharesItsConnectionsAndNothingElse) {
  const auto group = Listener::open_group({.host = "127.0.0.1"}, 3);
  ASSERT_TRUE(group) << group.error().detail;
  ASSERT_EQ(group->size(), 3U);
  for (const Listener& one : *group) EXPECT_EQ(one.port(), group->front().port());
  EXPECT_FALSE(Listener::open({.host = "127.0.0.1", .port = group->front().port()}));
  EXPECT_FALSE(Listener::open_group({.host = "127.0.0.1", .port = group->front().port()}, 3));
  std::vector<Fd> clients(64);
  for (Fd& client : clients) client = connect_to(group->front().port());
  std::size_t accepted = 0;
  for (const Listener& one : *group) {
    std::size_t here = 0;
    while (*one.accept()) ++here;
    EXPECT_GT(here, 0U);
    accepted += here;
  }
  EXPECT_EQ(accepted, clients.size());
}

TEST(Listener, AdoptsASocketWithItsBacklog) {
  auto opened = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(opened);
  const std::uint16_t port = opened->port();
  const Fd client = connect_to(port);
  const auto adopted = Listener::adopt(std::move(*opened).take_fd(), {.unsent_bytes_max = 4096});
  ASSERT_TRUE(adopted) << adopted.error().detail;
  EXPECT_EQ(adopted->port(), port);
  EXPECT_EQ(adopted->address(), "127.0.0.1");
  EXPECT_EQ(option(adopted->fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT), 4096);
  accept_from(*adopted);
  EXPECT_FALSE(*adopted->accept());  // And does not block.
}

TEST(Listener, AdoptsNothingElse) {
  const auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  EXPECT_FALSE(Listener::adopt(connect_to(listener->port()), {}));
  EXPECT_FALSE(Listener::adopt(Fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)}, {}));
  Fd not_yet{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto refused = Listener::adopt(std::move(not_yet), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("no listening TCP socket"), std::string::npos);
}

TEST(Listener, WritesIpv6AddressesAsUrlsDo) {
  const auto listener = Listener::open({.host = "::1"});
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.error().detail;
  EXPECT_EQ(listener->address(), "[::1]");
}

}  // namespace
}  // namespace seedance::io
