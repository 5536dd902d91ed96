#include "server/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "server/test_client.h"

namespace seedance::server {
namespace {

using testing::HasSubstr;

constexpr std::string_view kEndless = "rate=1000,length=1000000";
constexpr std::string_view kInfer = R"({"type":"INFER_REQ","id":"a","prompt":"x"})";

std::string error_of(ServerConfig config) {
  const auto server = Server::open(std::move(config));
  return server ? "none" : server.error().detail;
}

TEST(Server, ReportsWhenItIsReady) {
  const TestServer server{"rate=0,context=1234,sequences=5"};
  EXPECT_EQ(server.report().url, fmt::format("http://127.0.0.1:{}", server.port()));
  ASSERT_EQ(server.report().models.size(), 1U);
  EXPECT_EQ(server.report().models[0].name, "tale@1");
  EXPECT_EQ(server.report().models[0].context_tokens, 1234U);
  EXPECT_EQ(server.report().models[0].sequences_max, 5U);
}

TEST(Server, RefusesATakenPortAndABadHost) {
  const TestServer first;
  ServerConfig config = scripted_config("");
  config.port = first.port();
  EXPECT_THAT(error_of(config), HasSubstr(fmt::format("127.0.0.1:{}", first.port())));
  config.port = 0;
  config.host = "no.such.host.invalid";
  EXPECT_THAT(error_of(config), HasSubstr("no.such.host.invalid"));
}

TEST(Server, RefusesAConfigThatMeansNothing) {
  ServerConfig config = scripted_config("speed=9");
  EXPECT_THAT(error_of(config), HasSubstr("speed"));
  config = scripted_config("");
  config.models.push_back(config.models.front());
  EXPECT_THAT(error_of(config), HasSubstr("'tale' is there twice"));
  config.models.clear();
  EXPECT_THAT(error_of(config), HasSubstr("models"));
}

ServerConfig config_with(std::string program) {
  ServerConfig config = scripted_config("");
  config.models[0].engine = LlamaModel{.path = "/no/such/model"};
  config.program = std::move(program);
  return config;
}

TEST(Server, AWorkerThatCannotStartEndsTheRun) {
  const auto server = Server::open(config_with("/bin/false"));
  ASSERT_TRUE(server);
  const auto outcome = (*server)->run([](const ReadyReport&) { FAIL() << "it is not ready"; });
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().detail, HasSubstr("exited with code 1"));
}

TEST(Server, AMissingProgramEndsTheRun) {
  const auto server = Server::open(config_with("/no/such/program"));
  ASSERT_TRUE(server);
  const auto outcome = (*server)->run([](const ReadyReport&) {});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().detail, HasSubstr("/no/such/program"));
}

TEST(Server, StoppedWhileIdleEndsAtOnce) {
  TestServer server;
  TestWebSocket socket{server.port()};
  TestClient http{server.port()};
  EXPECT_EQ(http.get("/healthz").status, 200);
  server.server().stop();
  EXPECT_EQ(socket.message().at("type"), "GOAWAY");
  const auto frame = socket.frame();
  EXPECT_EQ(frame.opcode, wire::Opcode::close);
  EXPECT_EQ(frame.payload.substr(0, 2), "\x03\xF4");  // 1012.
  socket.send_frame(wire::Opcode::close, "\x03\xF4");
  EXPECT_EQ(http.read(1), "");
  EXPECT_TRUE(server.join());
}

TEST(Server, StoppedWhileStreamingLetsStreamsEnd) {
  TestServer server{"rate=200,length=50"};
  TestWebSocket socket{server.port()};
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  server.server().stop();
  const auto done = socket.message("INFER_DONE");
  EXPECT_EQ(done.at("finish_reason"), "stop");
  socket.close();
  EXPECT_TRUE(server.join());
}

TEST(Server, WhileItDrainsItTakesNothingNew) {
  TestServer server{std::string{kEndless}};
  TestWebSocket socket{server.port()};
  TestClient http{server.port()};
  EXPECT_EQ(http.get("/readyz").status, 200);
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  http.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\nX: ");  // Not idle.
  server.wait_for_metric("seedance_streams_running", 1);
  server.server().stop();
  // What comes before the core hears of the stop is still taken.
  boost::json::object answer;
  for (int i = 0; answer.empty() || answer.at("type") == "ACCEPTED"; ++i) {
    const std::string id = fmt::format("b{}", i);
    socket.send(fmt::format(R"({{"type":"INFER_REQ","id":"{}","prompt":"x"}})", id));
    do answer = socket.message();
    while (!HasFailure() && answer["id"] != boost::json::value(id));
  }
  EXPECT_EQ(answer.at("type"), "ERROR");
  EXPECT_EQ(answer.at("code"), "overloaded");
  http.send("y\r\n\r\n");
  const TestResponse probe = http.response();
  EXPECT_EQ(probe.status, 503);
  EXPECT_EQ(probe.headers.at("connection"), "close");
}

std::vector<io::Listener> only(io::Listener listener) {
  std::vector<io::Listener> out;
  out.push_back(std::move(listener));
  return out;
}

TEST(Server, WhoConnectsDuringADrainWaitsForTheNextServer) {
  auto listener = io::Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener);
  auto kept = io::Listener::adopt(io::Fd{dup(listener->fd().get())}, {});
  ASSERT_TRUE(kept);
  ServerConfig config = scripted_config(std::string{kEndless});
  config.drain_timeout = std::chrono::hours{1};
  TestServer old{config, only(*std::move(listener))};
  TestWebSocket socket{kept->port()};
  TestClient idle{kept->port()};
  EXPECT_EQ(idle.get("/readyz").status, 200);
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  old.server().stop();
  EXPECT_EQ(idle.read(1), "");  // It is closed because the server drains.
  TestClient waiting{kept->port()};
  waiting.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  socket.message("INFER_CHUNK");
  old.server().stop();
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
  socket.close();
  EXPECT_TRUE(old.join());
  const TestServer next{config, only(*std::move(kept))};
  EXPECT_EQ(waiting.response().status, 200);
}

TEST(Server, ServesEveryListenerThatItIsGiven) {
  std::vector<io::Listener> listeners;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 5; ++i) {
    auto listener = io::Listener::open({.host = "127.0.0.1"});
    ASSERT_TRUE(listener);
    ports.push_back(listener->port());
    listeners.push_back(*std::move(listener));
  }
  ServerConfig config = scripted_config("rate=0");
  config.edges = 2;
  const TestServer server{config, std::move(listeners)};
  EXPECT_EQ(server.port(), ports.front());
  for (const std::uint16_t port : ports) {
    EXPECT_EQ(TestClient{port}.get("/healthz").status, 200);
  }
}

TEST(Server, AReloadChangesWhoMayComeInAndDropsNoStream) {
  ServerConfig config = scripted_config(std::string{kEndless});
  config.edges = 2;
  config.port = 0;
  config.gate = key_gate({"sesame", "another"});
  TestServer server{config};
  TestWebSocket socket{server.port(), api::kJsonSubprotocol, 0, "sesame"};
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  config.gate = key_gate({"sesame"});
  ASSERT_TRUE(server.server().reload(config));
  for (int in_a_row = 0; in_a_row < 4;) {  // On every edge.
    const int status =
        TestClient{server.port()}.get("/v1/models", "Authorization: Bearer another\r\n").status;
    in_a_row = status == 401 ? in_a_row + 1 : 0;
  }
  EXPECT_EQ(TestClient{server.port()}.get("/v1/models", "Authorization: Bearer sesame\r\n").status,
            200);
  socket.message("INFER_CHUNK");
  socket.send(R"({"type":"CANCEL","id":"a"})");
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
}

TEST(Server, ARefusedReloadChangesNothing) {
  ServerConfig config = scripted_config("rate=0");
  config.port = 0;
  TestServer server{config};
  config.models.clear();
  const auto refused = server.server().reload(config);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("models"));
  EXPECT_EQ(TestClient{server.port()}.get("/v1/models").status, 200);
}

TEST(Server, ASighupAsksForAReloadAndASigusr2Stops) {
  ServerConfig config = scripted_config("rate=0");
  config.port = 0;
  const auto server = Server::open(config);
  ASSERT_TRUE(server);
  int reloads = 0;
  EXPECT_TRUE((*server)->run([](const ReadyReport&) { kill(getpid(), SIGHUP); },
                             [](const std::string&) {},
                             [&] {
                               ++reloads;
                               kill(getpid(), SIGUSR2);
                             }));
  EXPECT_EQ(reloads, 1);
}

TEST(Server, AnAuditLogThatCannotBeWrittenIsToldToTheOperatorOnce) {
  ServerConfig config;
  config.audit_log = "/dev/full";
  TestServer server{"rate=0", config};
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(TestClient{server.port()}.get("/nowhere").status, 404);
    server.wait_for_metric("seedance_audit_dropped_total", i);
  }
  server.server().stop();
  EXPECT_TRUE(server.join());
  EXPECT_THAT(server.notices(),
              testing::ElementsAre(HasSubstr("the audit log cannot be written; records are lost: "
                                             "/dev/full: No space left on device")));
}

TEST(Server, TheDeadlineOfADrainCancelsStreams) {
  ServerConfig config;
  config.drain_timeout = std::chrono::milliseconds{20};
  TestServer server{std::string{kEndless}, config};
  TestWebSocket socket{server.port()};
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  server.server().stop();
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
  socket.close();
  EXPECT_TRUE(server.join());
}

TEST(Server, ASecondStopDoesNotWait) {
  ServerConfig config;
  config.drain_timeout = std::chrono::hours{1};
  TestServer server{std::string{kEndless}, config};
  TestWebSocket socket{server.port()};
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  server.server().stop();
  server.server().stop();
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
  socket.close();
  EXPECT_TRUE(server.join());
}

TEST(Server, ASignalStopsIt) {
  TestServer server;
  // Blocked wherever it might be delivered but in the loop that reads it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(server.join());
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

// Sends without end, from a thread of its own, until the server closes.
class Flood {
 public:
  Flood(TestClient& client, std::string_view bytes)
      : sender_([&client, bytes] {
          std::string many;
          while (many.size() < (std::size_t{1} << 20)) many += bytes;
          while (send(client.socket().get(), many.data(), many.size(), MSG_NOSIGNAL) > 0) {
          }
        }) {}

 private:
  std::jthread sender_;
};

// So that the kernel always has more of a flood than one read takes.
std::vector<io::Listener> deep_listener() {
  auto listener = io::Listener::open({.host = "127.0.0.1"});
  const int bytes = 1 << 20;
  setsockopt(listener->fd().get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  return only(*std::move(listener));
}

TEST(Server, AFloodThatNeedsNoAnswersHoldsUpNobody) {
  ServerConfig config = scripted_config(std::string{kEndless});
  config.edges = 1;
  TestServer server{config, deep_listener()};
  TestWebSocket socket{server.port()};
  socket.send(kInfer);
  socket.message("INFER_CHUNK");
  std::string ack;
  wire::append_masked_frame(ack, wire::Opcode::text, wire::Fin::yes,
                            R"({"type":"ACK","id":"a","seq":1})", {});
  const Flood flood{socket.client(), ack};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(TestClient{server.port()}.get("/healthz").status, 200);
  socket.message("INFER_CHUNK");  // Nor itself.
  server.server().stop();
  server.server().stop();
  EXPECT_TRUE(server.join());
}

TEST(Server, AFloodOfRequestsHoldsUpNobody) {
  ServerConfig config = scripted_config("rate=0");
  config.edges = 1;
  TestServer server{config, deep_listener()};
  TestClient client{server.port()};
  const Flood flood{client, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"};
  const std::jthread reader{[&] {
    std::array<char, 65536> bytes{};
    while (recv(client.socket().get(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }};
  for (int i = 0; i < 50; ++i) EXPECT_EQ(TestClient{server.port()}.get("/healthz").status, 200);
  server.server().stop();
  EXPECT_TRUE(server.join());
}

TEST(Server, SeveralEdgesShareTheConnections) {
  ServerConfig config;
  config.edges = 3;
  const TestServer server{"mode=echo,rate=0", config};
  std::vector<std::unique_ptr<TestWebSocket>> sockets;
  for (int i = 0; i < 9; ++i) {
    sockets.push_back(std::make_unique<TestWebSocket>(server.port()));
    sockets.back()->send(R"({"type":"INFER_REQ","id":"a","prompt":"one two"})");
  }
  for (const auto& socket : sockets) EXPECT_EQ(socket->read_stream("a").text, "one two");
}

}  // namespace
}  // namespace seedance::server
