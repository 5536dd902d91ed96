#include "io/connect.h"

#include <gtest/gtest.h>

#include <chrono>

#include "io/clock.h"
#include "io/poller.h"
#include "io/socket.h"

namespace seedance::io {
namespace {

TimePoint soon() {
  return now() + std::chrono::seconds{10};
}

TEST(Connect, ReachesAListenerByAnyOfItsNames) {
  const auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto endpoint = Endpoint::reach(host, listener->port(), soon());
    ASSERT_TRUE(endpoint) << host << ": " << endpoint.error().detail;
    auto poller = Poller::open();
    const auto socket = endpoint->connect();
    ASSERT_TRUE(socket && poller->add(*socket, {1}));
    poller->wait(soon());
    EXPECT_TRUE(connect_result(*socket));
    EXPECT_EQ(send(*socket, "hi").bytes, 2U);
  }
}

TEST(Connect, SaysWhyNobodyIsThere) {
  auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  const std::uint16_t port = listener->port();
  const auto there = Endpoint::reach("127.0.0.1", port, soon());
  ASSERT_TRUE(there);
  std::move(*listener).take_fd().close();
  const auto gone = Endpoint::reach("127.0.0.1", port, soon());
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().detail.find("Connection refused"), std::string::npos);
}

TEST(Connect, NeedsAHostThatMeansSomething) {
  const auto endpoint = Endpoint::reach("256.256.256.256", 80, soon());
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::not_found);
}

}  // namespace
}  // namespace seedance::io
