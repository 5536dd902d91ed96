#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "server/page.h"
#include "server/test_client.h"

namespace seedance::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kChat =
    R"({"model":"tale","messages":[{"role":"user","content":"hello there"}],"max_tokens":50)";

std::string chat(std::string_view more = "") {
  return fmt::format("{}{}}}", kChat, more);
}

class ServerHttp : public testing::Test {
 protected:
  TestServer server_{"mode=echo,rate=0"};
  TestClient client_{server_.port()};
};

TEST_F(ServerHttp, ProbesAnswer) {
  EXPECT_EQ(client_.get("/healthz").status, 200);
  EXPECT_EQ(client_.get("/readyz").status, 200);
  const TestResponse plugin = client_.get("/health/plugins/ws-inference");
  EXPECT_EQ(plugin.status, 200);
  EXPECT_EQ(plugin.body, R"({"status":"ready","streams_active":0})");
}

TEST_F(ServerHttp, ThePageIsThere) {
  const TestResponse got = client_.get("/");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, page());
  EXPECT_THAT(std::string{page()}, HasSubstr("<html"));
  EXPECT_THAT(got.headers.at("content-type"), StartsWith("text/html"));
}

TEST_F(ServerHttp, ListsItsModels) {
  const TestResponse all = client_.get("/v1/models");
  EXPECT_EQ(all.json().at("data").at(0).at("id"), "tale@1");
  for (const auto* id : {"t%61le", "tale@1", "tale%401"}) {
    EXPECT_EQ(client_.get(std::string{"/v1/models/"} + id).json().at("id"), "tale@1") << id;
  }
  EXPECT_EQ(client_.get("/v1/models/tale@2").status, 404);
  const TestResponse none = client_.get("/v1/models/other");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.error_code(), "model_not_found");
}

TEST_F(ServerHttp, AnswersAChatWhole) {
  const TestResponse got = client_.post("/v1/chat/completions", chat());
  EXPECT_EQ(got.status, 200);
  const auto choice = got.json().at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "hello there");
  EXPECT_EQ(choice.at("finish_reason"), "stop");
}

TEST_F(ServerHttp, StreamsAChatAsEvents) {
  const TestResponse got = client_.post("/v1/chat/completions", chat(R"(,"stream":true)"));
  EXPECT_EQ(got.status, 200);
  EXPECT_THAT(got.headers.at("content-type"), StartsWith("text/event-stream"));
  const std::string& stream = got.headers.at("seedance-stream");
  EXPECT_THAT(got.body, StartsWith("id: " + stream + ":1:0\ndata: {"));
  EXPECT_THAT(got.body, HasSubstr(R"("role":"assistant")"));
  EXPECT_THAT(got.body, HasSubstr(R"("finish_reason":"stop")"));
  EXPECT_THAT(got.body, EndsWith("data: [DONE]\n\n"));
  // The connection stays for the next request.
  EXPECT_EQ(client_.get("/healthz").status, 200);
}

TEST_F(ServerHttp, CompletesText) {
  const std::string body = R"({"model":"tale","prompt":"one two","max_tokens":50)";
  const TestResponse whole = client_.post("/v1/completions", body + "}");
  EXPECT_EQ(whole.json().at("choices").at(0).at("text"), "one two");
  const TestResponse streamed = client_.post("/v1/completions", body + R"(,"stream":true})");
  EXPECT_THAT(streamed.body, EndsWith("data: [DONE]\n\n"));
}

TEST_F(ServerHttp, StreamsToHttp10UntilItCloses) {
  const std::string body = chat(R"(,"stream":true)");
  client_.send(
      fmt::format("POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  body.size(), body));
  const std::string all = client_.read_until("[DONE]\n\n");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(all, testing::Not(HasSubstr("Transfer-Encoding")));
  EXPECT_THAT(all, EndsWith("data: [DONE]\n\n"));
  EXPECT_EQ(client_.read(1), "");
}

TEST_F(ServerHttp, RefusesWhatItCannotRead) {
  const TestResponse bad = client_.post("/v1/chat/completions", "{");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.error_code(), "invalid_request");
  EXPECT_EQ(client_.post("/v1/chat/completions", chat(R"(,"n":2)")).status, 400);
  const TestResponse other = client_.post(
      "/v1/chat/completions", R"({"model":"other","messages":[{"role":"user","content":"x"}]})");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.error_code(), "model_not_found");
}

TEST_F(ServerHttp, RefusesUnknownPathsAndMethods) {
  const TestResponse unknown = client_.get("/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error_code(), "invalid_request");
  const TestResponse method = client_.get("/v1/chat/completions");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.at("allow"), "POST, OPTIONS");
}

TEST_F(ServerHttp, AnswersHeadWithoutABody) {
  client_.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const TestResponse got = client_.response(false);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.headers.at("content-length"), std::to_string(page().size()));
  EXPECT_EQ(client_.get("/healthz").body, "ok\n");
}

TEST_F(ServerHttp, ARefusalIsOfNoOtherRequest) {
  client_.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\ngarbage\r\n\r\n");
  client_.response(false);
  const TestResponse refused = client_.response();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.error_code(), "invalid_request");
  EXPECT_EQ(server_.metric(R"(seedance_http_requests_total{route="page",status="4xx"})"), 0);
  EXPECT_EQ(server_.metric(R"(seedance_http_requests_total{route="unknown",status="4xx"})"), 1);
}

TEST_F(ServerHttp, AnswersPipelinedRequestsInOrder) {
  const std::string body = chat(R"(,"stream":true)");
  std::string requests = fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
  for (int i = 0; i < 3; ++i) requests += "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
  requests += "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  client_.send(requests);
  EXPECT_THAT(client_.response().body, EndsWith("data: [DONE]\n\n"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client_.response().body, HasSubstr("tale"));
  const TestResponse last = client_.response();
  EXPECT_EQ(last.body, "ok\n");
  EXPECT_EQ(last.headers.at("connection"), "close");
  EXPECT_EQ(client_.read(1), "");
}

TEST_F(ServerHttp, BoundsTheAnswersToAFloodOfPipelinedRequests) {
  std::string requests;
  constexpr int kCount = 1000;
  for (int i = 0; i < kCount; ++i) requests += "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::jthread sender{[&] { client_.send(requests); }};
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(client_.response().body.size(), page().size());
}

TEST_F(ServerHttp, RefusesForeignHosts) {
  client_.send("GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  const TestResponse got = client_.response();
  EXPECT_EQ(got.status, 403);
  EXPECT_EQ(got.error_code(), "permission_denied");
  client_.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client_.response().status, 200);  // A probe tells nothing.
}

TEST_F(ServerHttp, RefusesForeignOrigins) {
  EXPECT_EQ(client_.get("/v1/models", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(client_.get("/v1/models", "Origin: http://localhost\r\n").status, 200);
  client_.send(
      "GET /ws/inference HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n");
  EXPECT_EQ(client_.response().status, 403);
}

TEST(ServerCors, AnswersAllowedOriginsOnly) {
  ServerConfig config;
  config.allowed_origins = {"https://app.example"};
  config.gate = key_gate({"k"});
  const TestServer server{"rate=0", config};
  TestClient client{server.port()};
  client.send(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-one, "
      "x-two\r\n\r\n");
  const TestResponse preflight = client.response(false);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "x-one, x-two");
  const TestResponse listed =
      client.get("/v1/models", "Origin: https://app.example\r\nAuthorization: Bearer k\r\n");
  EXPECT_EQ(listed.headers.at("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(listed.headers.at("vary"), "Origin");
  EXPECT_FALSE(client.get("/v1/models", "Authorization: Bearer k\r\n")
                   .headers.contains("access-control-allow-origin"));
}

TEST(ServerKeys, GuardEverythingButProbesAndPage) {
  ServerConfig config;
  config.gate = key_gate({"first", "second"});
  const TestServer server{"rate=0", config};
  TestClient client{server.port()};
  const TestResponse refused = client.get("/v1/models");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.error_code(), "unauthenticated");
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer");
  for (const auto* path : {"/metrics", "/nothing", "/ws/inference", "/v1/models/tale"}) {
    EXPECT_EQ(client.get(path).status, 401) << path;
  }
  EXPECT_EQ(client.post("/v1/chat/completions", "{}").status, 401);
  for (const auto* path : {"/", "/healthz", "/readyz", "/health/plugins/ws-inference"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer second\r\n").status, 200);
}

TEST(ServerKeys, MayBeAWebSocketSubprotocolAndAreNotEchoed) {
  ServerConfig config;
  config.gate = key_gate({"s3cret"});
  const TestServer server{"rate=0", config};
  const auto offer = [&](std::string_view protocols) {
    TestClient client{server.port()};
    client.send(fmt::format(
        "GET /ws/inference HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
        protocols));
    return client.read_until("\r\n\r\n");
  };
  const std::string agreed = offer("seedance.key.s3cret, seedance.v2+json");
  EXPECT_THAT(agreed, StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(agreed, HasSubstr("Sec-WebSocket-Protocol: seedance.v2+json\r\n"));
  EXPECT_THAT(agreed, testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(offer("seedance.key.wrong, seedance.v2+json"), StartsWith("HTTP/1.1 401 "));
}

TEST(ServerLimits, RefuseLargeBodiesBeforeTheyCome) {
  ServerConfig config;
  config.limits.http.body_bytes_max = 1000;
  const TestServer server{"rate=0", config};
  TestClient client{server.port()};
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 1001\r\n\r\n");
  const TestResponse got = client.response();
  EXPECT_EQ(got.status, 413);
  EXPECT_EQ(got.error_code(), "payload_too_large");
  EXPECT_THAT(got.body, HasSubstr("1000 bytes"));
  EXPECT_EQ(client.read(1), "");
}

TEST(ServerLimits, RefuseManyOrLargeHeaders) {
  ServerConfig config;
  config.limits.http.head_bytes_max = 2000;
  const TestServer server{"rate=0", config};
  TestClient client{server.port()};
  client.send(
      fmt::format("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", std::string(2000, 'x')));
  const TestResponse got = client.response();
  EXPECT_EQ(got.status, 431);
  EXPECT_THAT(got.body, HasSubstr("2000 bytes"));
  EXPECT_EQ(client.read(1), "");
}

TEST(ServerLimits, RefuseSlowHeadsAndBodies) {
  ServerConfig config;
  config.limits.header_timeout = std::chrono::milliseconds{20};
  config.limits.body_timeout = std::chrono::milliseconds{20};
  const TestServer server{"rate=0", config};
  TestClient slow_head{server.port()};
  slow_head.send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(slow_head.response().status, 408);
  TestClient slow_body{server.port()};
  slow_body.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_EQ(slow_body.response().status, 408);
}

TEST(ServerLimits, CloseConnectionsThatSayNothing) {
  ServerConfig config;
  config.limits.keep_alive_timeout = std::chrono::milliseconds{20};
  const TestServer server{"rate=0", config};
  EXPECT_EQ(TestClient{server.port()}.read(1), "");
  TestClient client{server.port()};
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(client.read(1), "");
}

// The request is there when the connection is refused: no reset may overtake the answer.
TEST(ServerLimits, WhoIsOneTooManyGetsItsAnswerWhole) {
  std::vector<io::Listener> listeners;
  listeners.push_back(*io::Listener::open({.host = "127.0.0.1"}));
  TestClient first{listeners.front().port()};
  TestClient second{listeners.front().port()};
  for (TestClient* client : {&first, &second}) {
    client->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  ServerConfig config = scripted_config("rate=0");
  config.limits.connections_max = 1;
  const TestServer server{config, std::move(listeners)};
  EXPECT_EQ(first.response().status, 200);
  EXPECT_EQ(second.response().status, 503);
  std::array<char, 1> more{};
  EXPECT_EQ(recv(second.socket().get(), more.data(), more.size(), 0), 0);
}

TEST(ServerLimits, RefuseConnectionsOverTheMaximum) {
  ServerConfig config;
  config.limits.connections_max = 1;
  const TestServer server{"rate=0", config};
  TestClient first{server.port()};
  EXPECT_EQ(first.get("/healthz").status, 200);
  TestClient second{server.port()};
  const TestResponse refused = second.response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error_code(), "connection_limit");
  EXPECT_EQ(refused.body.size(), std::stoul(refused.headers.at("content-length")));
}

TEST_F(ServerHttp, RefusesEarlyWhoMayNotSendABody) {
  client_.send(
      "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client_.response().status, 404);
  EXPECT_EQ(client_.read(1), "");
}

TEST_F(ServerHttp, AsksForABodyThatWaits) {
  const std::string body = chat();
  client_.send(
      fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
                  body.size()));
  EXPECT_EQ(client_.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client_.send(body);
  EXPECT_EQ(client_.response().status, 200);
}

TEST(ServerSse, SaysThatItLivesWhileThereIsNothingToSay) {
  ServerConfig config;
  config.limits.sse_comment_after = std::chrono::milliseconds{5};
  const TestServer server{"rate=0,fault=stall@2:10s", config};
  TestClient client{server.port()};
  const std::string body = chat(R"(,"stream":true)");
  client.send(
      fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  body.size(), body));
  EXPECT_THAT(client.read_until(": keepalive"), HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(client.read_until(": keepalive"), Not(HasSubstr("[DONE]")));
}

TEST(ServerSse, ADisconnectEndsTheStreamAfterItsGrace) {
  ServerConfig config;
  config.core.orphan_ttl = Duration::zero();
  const TestServer server{"rate=1000,length=1000000", config};
  for (const bool streamed : {true, false}) {
    TestClient client{server.port()};
    const std::string body =
        fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}],"stream":{}}})", streamed);
    client.send(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    body.size(), body));
    server.wait_for_metric("seedance_streams_running", 1);
    client.close();
    server.wait_for_metric("seedance_streams_running", 0);
  }
  EXPECT_EQ(server.metric("seedance_streams_ended_total{reason=\"cancelled\"}"), 2);
}

TEST(ServerSse, MergesTokensWhenToldTo) {
  ServerConfig config;
  config.merge = std::chrono::seconds{5};
  const TestServer server{"rate=1000,length=100", config};
  TestClient client{server.port()};
  const std::string body = client.post("/v1/chat/completions", chat(R"(,"stream":true)")).body;
  std::size_t deltas = 0;
  for (std::size_t at = 0; (at = body.find("\"delta\"", at)) != std::string::npos; ++at) ++deltas;
  // The role, the first token, the rest with the end, the finish reason.
  EXPECT_LE(deltas, 5U);
}

TEST_F(ServerHttp, CountsWhatItDoes) {
  client_.get("/healthz");
  client_.get("/nothing");
  EXPECT_EQ(server_.metric(R"(seedance_http_requests_total{route="healthz",status="2xx"})"), 1);
  EXPECT_EQ(server_.metric(R"(seedance_http_requests_total{route="unknown",status="4xx"})"), 1);
  EXPECT_GE(server_.metric("seedance_connections_open"), 1);
  EXPECT_EQ(server_.metric("seedance_ready"), 1);
}

}  // namespace
}  // namespace seedance::server
