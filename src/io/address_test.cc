#include "io/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/socket.h"

namespace seedance::io {
namespace {

using namespace std::string_literals;

bool loopback(const std::string& host) {
  const auto listener = Listener::open({.host = host});
  EXPECT_TRUE(listener) << host << ": " << listener.error().detail;
  return listener && is_on_loopback(listener->fd());
}

TEST(Address, KnowsWhatOnlyThisMachineReaches) {
  EXPECT_TRUE(loopback("127.0.0.1"));
  EXPECT_TRUE(loopback("127.1.2.3"));
  EXPECT_FALSE(loopback("0.0.0.0"));
  EXPECT_FALSE(is_on_loopback(Fd{}));
}

std::string network(int family, const char* text) {
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  void* at = family == AF_INET
                 ? static_cast<void*>(&reinterpret_cast<sockaddr_in&>(storage).sin_addr)
                 : &reinterpret_cast<sockaddr_in6&>(storage).sin6_addr;
  EXPECT_EQ(inet_pton(family, text, at), 1) << text;
  return network_of(reinterpret_cast<const sockaddr&>(storage));
}

TEST(Address, ANetworkIsAnAddressOrTheHalfOfAnIpv6Address) {
  EXPECT_EQ(network(AF_INET, "192.0.2.1"), "\xC0\x00\x02\x01"s);
  EXPECT_EQ(network(AF_INET6, "::ffff:192.0.2.1"), network(AF_INET, "192.0.2.1"));
  EXPECT_NE(network(AF_INET, "192.0.2.2"), network(AF_INET, "192.0.2.1"));
  const std::string one = network(AF_INET6, "2001:db8:0:1::1");
  EXPECT_EQ(network(AF_INET6, "2001:db8:0:1:ffff:ffff:ffff:ffff"), one);
  EXPECT_NE(network(AF_INET6, "2001:db8:0:2::1"), one);
  EXPECT_NE(network(AF_INET6, "::1"), "");
  EXPECT_EQ(network_of({.sa_family = AF_UNIX, .sa_data = {}}), "");
}

TEST(Address, NamesThePeer) {
  const auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener) << listener.error().detail;
  const Fd client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(peer_address(client), fmt::format("127.0.0.1:{}", listener->port()));
  EXPECT_EQ(peer_address(listener->fd()), "");
  EXPECT_EQ(peer_network(client), network(AF_INET, "127.0.0.1"));
  EXPECT_EQ(peer_network(listener->fd()), "");
}

}  // namespace
}  // namespace seedance::io
