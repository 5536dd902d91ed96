// Limits on connections, over all edges of a server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "auth/keys.h"
#include "server/test_client.h"
#include "wire/ws_handshake.h"

namespace seedance::server {
namespace {

using testing::HasSubstr;

std::string met(std::string_view limit) {
  return fmt::format(R"(seedance_limits_met_total{{limit="{}"}})", limit);
}

// What the server says to whom it does not let in.
void expect_refused(TestClient& client, std::string_view numbers) {
  const TestResponse refused = client.response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error_code(), "connection_limit");
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_THAT(refused.body, HasSubstr(numbers));
}

TEST(ServerConnectionLimits, AnAddressHasSoManyOnAllEdgesTogether) {
  ServerConfig config;
  config.edges = 3;
  config.limits.connections_per_address_max = 2;
  const TestServer server{"rate=0", config};
  TestClient first{server.port()};
  TestClient second{server.port()};
  EXPECT_EQ(first.get("/healthz").status, 200);
  EXPECT_EQ(second.get("/healthz").status, 200);
  TestClient third{server.port()};  // Says nothing: it is refused before.
  expect_refused(third, "all 2 connections");
  EXPECT_EQ((TestClient{server.port(), 0, "127.0.0.3"}.get("/healthz").status), 200);
  EXPECT_EQ(server.metric(met("address")), 1);
  EXPECT_EQ(server.metric("seedance_connections_refused_total"), 1);
  server.wait_for_metric("seedance_client_addresses", 2);  // That of the metrics, too.
  first.close();
  server.wait_for_metric("seedance_connections_open", 2);
  EXPECT_EQ(TestClient{server.port()}.get("/healthz").status, 200);
}

TEST(ServerConnectionLimits, ALimitThatIsNewCountsWhoWasThere) {
  ServerConfig config = scripted_config("rate=0");
  TestServer server{config};
  TestClient first{server.port()};
  EXPECT_EQ(first.get("/healthz").status, 200);
  config.limits.connections_per_address_max = 1;
  ASSERT_TRUE(server.server().reload(config));
  // The edge takes it over in its own time.
  int status = 200;
  for (int i = 0; i < 10000 && status == 200; ++i) {
    status = TestClient{server.port()}.get("/healthz").status;
  }
  EXPECT_EQ(status, 503);
}

TEST(ServerConnectionLimits, TheRefusalNamesTheNumber) {
  ServerConfig config;
  config.limits.connections_max = 1;
  const TestServer server{"rate=0", config};
  TestClient first{server.port()};
  EXPECT_EQ(first.get("/healthz").status, 200);
  TestClient second{server.port()};
  expect_refused(second, "this server takes 1");
  first.close();
  // Until the server knows that, whoever asks for the metrics is refused and counted, too.
  double count = 0;
  for (int i = 0; i < 20000 && count == 0; ++i) count = server.metric(met("connections"));
  EXPECT_GE(count, 1);
}

TEST(ServerConnectionLimits, OverTheRateConnectionsWaitAndNobodyIsRefused) {
  std::vector<io::Listener> listeners;
  listeners.push_back(*io::Listener::open({.host = "127.0.0.1"}));
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<TestClient>(listeners.front().port()));
    clients.back()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  ServerConfig config = scripted_config("rate=0");
  config.edges = 1;
  config.limits.accepts_per_second_max = 20;  // Two at once, then one each 50 ms.
  const TestServer server{config, std::move(listeners)};
  for (const auto& client : clients) EXPECT_EQ(client->response().status, 200);
  EXPECT_GE(server.metric(met("accepts")), 1);
  EXPECT_EQ(server.metric("seedance_connections_refused_total"), 0);
  EXPECT_EQ(clients.front()->get("/healthz").status, 200);
}

// Of two tenants, each of which has one WebSocket at most.
ServerConfig two_tenants() {
  const auto entry = [](std::string name, auth::Role role) {
    const std::string secret = "key of " + name;
    return auth::KeyEntry{.name = name,
                          .tenant = std::move(name),
                          .role = role,
                          .hash = auth::hash_of(secret),
                          .created = "2025-06-30T12:00:00Z"};
  };
  ServerConfig config = scripted_config("rate=0");
  config.edges = 2;
  config.limits.connections_per_tenant_max = 1;
  config.gate = std::make_shared<const auth::Gate>(auth::GateRules{
      .keys = std::vector{entry("red", auth::Role::user), entry("blue", auth::Role::admin)}});
  return config;
}

void send_upgrade(TestClient& client, std::string_view path, std::string_view key) {
  const std::string authorization = fmt::format("Bearer {}", key);
  std::string request;
  wire::append_upgrade_request(request, {.host = "localhost",
                                         .target = path,
                                         .key = "AQIDBAUGBwgJCgsMDQ4PEA==",
                                         .protocol = api::kJsonSubprotocol,
                                         .headers = {{"Authorization", authorization}}});
  client.send(request);
}

TEST(ServerConnectionLimits, ATenantHasSoManyWebSocketsOnAllEdgesTogether) {
  ServerConfig config = two_tenants();
  config.debug_echo = true;
  const TestServer server{config};
  TestWebSocket first{server.port(), api::kJsonSubprotocol, 0, "key of red"};
  for (const auto* path : {"/ws/inference", "/debug/echo"}) {
    TestClient client{server.port()};
    send_upgrade(client, path, "key of red");
    expect_refused(client, "all 1 WebSockets");
  }
  const TestWebSocket other{server.port(), api::kJsonSubprotocol, 0, "key of blue"};
  const std::string blue = "Authorization: Bearer key of blue\r\n";
  EXPECT_THAT(TestClient{server.port()}.get("/metrics", blue).body,
              HasSubstr(met("tenant") + " 2\n"));
  // What is no WebSocket does not count.
  EXPECT_EQ(TestClient{server.port()}.get("/v1/models", blue).status, 200);
  first.client().close();
  int status = 503;
  for (int i = 0; i < 10000 && status == 503; ++i) {
    TestClient client{server.port()};
    send_upgrade(client, "/ws/inference", "key of red");
    status = client.response(false).status;
  }
  EXPECT_EQ(status, 101);
}

TEST(ServerRequestLimits, SayTheirNumbersAndAreCounted) {
  ServerConfig config;
  config.limits.http = {.target_bytes_max = 300, .head_bytes_max = 2000, .headers_max = 3};
  config.limits.header_timeout = std::chrono::milliseconds{20};
  config.limits.body_timeout = std::chrono::milliseconds{30};
  const TestServer server{"rate=0", config};
  const auto ask = [&](const std::string& bytes) {
    TestClient client{server.port()};
    client.send(bytes);
    const TestResponse got = client.response();
    return fmt::format("{} {}", got.status, got.body);
  };
  const std::string line = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_THAT(ask(line + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n"), HasSubstr("431 "));
  EXPECT_THAT(ask(line + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n"), HasSubstr("3 headers"));
  EXPECT_THAT(ask(line + "A: " + std::string(2000, 'a') + "\r\n\r\n"), HasSubstr("2000 bytes"));
  EXPECT_THAT(ask("GET /" + std::string(400, 'a') + " HTTP/1.1\r\n"), HasSubstr("300 bytes"));
  EXPECT_THAT(ask(line), HasSubstr("the head of the request took longer than 20 ms"));
  EXPECT_THAT(ask("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"),
              HasSubstr("the body of the request took longer than 30 ms"));
  EXPECT_EQ(server.metric(met("headers")), 3);
  EXPECT_EQ(server.metric(met("target")), 1);
  EXPECT_EQ(server.metric(met("arrival")), 2);
}

}  // namespace
}  // namespace seedance::server
