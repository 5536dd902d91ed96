#include "io/address.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/socket.h"

namespace seedance::io {
namespace {

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
}

}  // namespace
}  // namespace seedance::io
