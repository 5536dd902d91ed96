#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <boost/json/serialize.hpp>
#include <set>

#include "server/test_client.h"
#include "wire/fm.h"
#include "wire/ws_handshake.h"

namespace seedance::server {
namespace {

using testing::HasSubstr;

std::string infer(std::string_view id, std::string_view prompt, std::string_view more = "") {
  return fmt::format(R"({{"type":"INFER_REQ","id":"{}","prompt":"{}"{}}})", id, prompt, more);
}

std::string cancel(std::string_view id) {
  return fmt::format(R"({{"type":"CANCEL","id":"{}"}})", id);
}

class ServerWs : public testing::Test {
 protected:
  TestServer server_{"mode=echo,rate=0"};
};

// The switch comes when the answer to the request before it is sent.
TEST_F(ServerWs, AnUpgradeMayFollowARequestAtOnce) {
  TestClient client{server_.port()};
  constexpr std::string_view kBody = R"({"model":"tale","prompt":"one two"})";
  std::string bytes = fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      kBody.size(), kBody);
  wire::append_upgrade_request(bytes, {.host = "localhost",
                                       .target = "/ws/inference",
                                       .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                       .protocol = "seedance.v2+json",
                                       .headers = {}});
  client.send(bytes);
  EXPECT_EQ(client.response().status, 200);
  EXPECT_THAT(client.read_until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 101"));
}

TEST_F(ServerWs, StreamsAnAnswer) {
  TestWebSocket socket{server_.port()};
  socket.send(infer("a", "one two three"));
  const auto accepted = socket.message();
  EXPECT_EQ(accepted.at("type"), "ACCEPTED");
  EXPECT_EQ(accepted.at("id"), "a");
  EXPECT_EQ(accepted.at("model"), "tale@1");
  EXPECT_THAT(accepted.at("stream").as_string().c_str(), testing::StartsWith("st_"));
  const auto stream = socket.read_stream("a");
  EXPECT_EQ(stream.text, "one two three");
  EXPECT_EQ(stream.done.at("finish_reason"), "stop");
}

TEST_F(ServerWs, StreamsInBinary) {
  TestWebSocket socket{server_.port(), api::kBinarySubprotocol};
  socket.send(infer("a", "one two three"));
  const auto channel = socket.message("ACCEPTED").at("channel").as_int64();
  std::string text;
  for (;;) {
    const TestWebSocket::Frame frame = socket.frame();
    if (frame.opcode == wire::Opcode::text) break;
    const auto chunk = wire::decode_fm(as_bytes(frame.payload));
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->channel, channel);
    text += chunk->text;
  }
  EXPECT_EQ(text, "one two three");
}

TEST_F(ServerWs, ManyStreamsShareAConnection) {
  TestWebSocket socket{server_.port()};
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 100; ++i) {
    socket.send(infer(fmt::format("s{}", i), fmt::format("this is number {}", i)));
  }
  std::size_t done = 0;
  while (done < 100) {
    const auto got = socket.message();
    ASSERT_FALSE(HasFailure());
    const std::string id = got.at("id").as_string().c_str();
    if (got.at("type") == "INFER_CHUNK") texts[id] += got.at("text").as_string();
    if (got.at("type") == "INFER_DONE") ++done;
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(texts[fmt::format("s{}", i)], fmt::format("this is number {}", i));
  }
  // The ids are free again.
  socket.send(infer("s1", "again"));
  EXPECT_EQ(socket.read_stream("s1").text, "again");
}

TEST_F(ServerWs, AnswersPings) {
  TestWebSocket socket{server_.port()};
  socket.send(R"({"type":"PING","ts":17})");
  const auto pong = socket.message();
  EXPECT_EQ(pong.at("type"), "PONG");
  EXPECT_EQ(pong.at("ts"), 17);
  socket.send_frame(wire::Opcode::ping, "beat");
  const auto frame = socket.frame();
  EXPECT_EQ(frame.opcode, wire::Opcode::pong);
  EXPECT_EQ(frame.payload, "beat");
}

TEST_F(ServerWs, RefusalsLeaveTheConnectionOpen) {
  TestWebSocket socket{server_.port()};
  socket.send("{");
  EXPECT_EQ(socket.message().at("code"), "protocol_error");
  socket.send(R"({"type":"INFER_REQ","id":"a","prompt":"x","model":"other"})");
  const auto error = socket.message();
  EXPECT_EQ(error.at("code"), "model_not_found");
  EXPECT_EQ(error.at("id"), "a");
  socket.send(cancel("nobody"));
  EXPECT_EQ(socket.message().at("code"), "stream_not_found");
  socket.send(R"({"type":"CANCEL","stream":"st_00000000000000000000000000"})");
  EXPECT_EQ(socket.message().at("code"), "stream_not_found");
  socket.send_frame(wire::Opcode::binary, "x");
  EXPECT_EQ(socket.message().at("code"), "protocol_error");
  socket.send(infer("a", "fine"));
  EXPECT_EQ(socket.read_stream("a").text, "fine");
}

TEST_F(ServerWs, BrokenFramesCloseTheConnection) {
  TestWebSocket socket{server_.port()};
  socket.client().send("\x81\x01x");  // Unmasked.
  const auto frame = socket.frame();
  EXPECT_EQ(frame.opcode, wire::Opcode::close);
  EXPECT_EQ(frame.payload.substr(0, 2), "\x03\xEA");  // 1002.
}

TEST_F(ServerWs, CloseIsAnswered) {
  TestWebSocket socket{server_.port()};
  socket.send_frame(wire::Opcode::close, "\x03\xE8");
  const auto frame = socket.frame();
  EXPECT_EQ(frame.opcode, wire::Opcode::close);
  EXPECT_EQ(frame.payload, "\x03\xE8");
  EXPECT_EQ(socket.client().read(1), "");
}

TEST_F(ServerWs, RefusesWhatIsNoUpgrade) {
  TestClient client{server_.port()};
  EXPECT_EQ(client.get("/ws/inference").status, 426);
  const TestResponse version =
      client.get("/ws/inference",
                 "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
                 "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n");
  EXPECT_EQ(version.status, 426);
  EXPECT_EQ(version.headers.at("sec-websocket-version"), "13");
}

TEST_F(ServerWs, MessagesBehindTheUpgradeAreNotLost) {
  TestClient client{server_.port()};
  std::string bytes =
      "GET /ws/inference HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n";
  wire::append_masked_frame(bytes, wire::Opcode::ping, wire::Fin::yes, "hi", {});
  client.send(bytes);
  EXPECT_THAT(client.read_until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 101 "));
  EXPECT_EQ(client.read(4), "\x8A\x02hi");
}

TEST(ServerWsCancel, EndsTheStreamWithItsTerminal) {
  const TestServer server{"rate=1000,length=1000000"};
  TestWebSocket socket{server.port()};
  socket.send(infer("a", "x"));
  socket.message("INFER_CHUNK");
  socket.send(cancel("a"));
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
}

TEST(ServerWsCancel, WorksForAQueuedStreamAndByStreamId) {
  const TestServer server{"rate=1000,length=1000000,sequences=1"};
  TestWebSocket socket{server.port()};
  for (const auto* id : {"a", "b", "c", "d"}) socket.send(infer(id, "x"));
  std::map<std::string, std::string> streams;
  while (streams.size() < 4) {
    const auto accepted = socket.message("ACCEPTED");
    streams[accepted.at("id").as_string().c_str()] = accepted.at("stream").as_string();
  }
  socket.send(cancel("d"));
  EXPECT_EQ(socket.message("INFER_DONE").at("id"), "d");
  // Another connection may cancel by the stream's id.
  TestWebSocket other{server.port()};
  other.send(fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", streams["a"]));
  EXPECT_EQ(socket.message("INFER_DONE").at("id"), "a");
  other.send(R"({"type":"PING","ts":1})");
  EXPECT_EQ(other.message().at("type"), "PONG");
}

constexpr std::string_view kUpgrade =
    "GET /ws/inference HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"
    "Sec-WebSocket-Protocol: seedance.v2+json\r\n\r\n";

// Everything at once: the answer to what came before it must not be lost, nor
// what comes behind it.
TEST_F(ServerWs, AnUpgradeMayBeBehindOtherRequests) {
  const std::string completion = R"({"prompt":"one two","max_tokens":50})";
  const std::string asked = fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      completion.size(), completion);
  std::string ping;
  wire::append_masked_frame(ping, wire::Opcode::text, wire::Fin::yes, R"({"type":"PING","ts":9})",
                            {});
  for (const std::string& before :
       {std::string{"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"}, asked}) {
    TestClient client{server_.port()};
    client.send(before + std::string{kUpgrade} + ping);
    EXPECT_EQ(client.response().status, 200);
    EXPECT_THAT(client.read_until("\r\n\r\n"), testing::StartsWith("HTTP/1.1 101 "));
    EXPECT_THAT(client.read_until("}"), HasSubstr(R"("ts":9)"));
  }
}

TEST(ServerWsLimits, StreamsPerConnection) {
  ServerConfig config;
  config.limits.streams_per_connection_max = 1;
  config.limits.waiting_per_connection_max = 1;
  const TestServer server{"rate=1000,length=1000000", config};
  TestWebSocket socket{server.port()};
  socket.send(infer("a", "x"));
  socket.send(infer("a", "x"));
  socket.send(infer("b", "x"));
  socket.send(infer("c", "x"));
  EXPECT_EQ(socket.message("ERROR").at("param"), "id");
  EXPECT_EQ(socket.message("ERROR").at("code"), "stream_limit");
  EXPECT_EQ(server.metric("seedance_requests_waiting"), 1);
  EXPECT_EQ(server.metric("seedance_stream_limits_met_total"), 1);
}

TEST(ServerWsLimits, MoreThanSixteenWaitForEachOther) {
  const TestServer server{"rate=1000,length=20,sequences=64"};
  TestWebSocket socket{server.port()};
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) socket.send(infer(std::to_string(i), "x"));
  std::size_t running = 0;
  std::vector<std::string> accepted;
  for (int done = 0; done < kCount;) {
    const auto message = socket.message();
    if (message.at("type") == "ACCEPTED") {
      accepted.emplace_back(message.at("id").as_string());
      EXPECT_LE(++running, 16U);
    } else if (message.at("type") == "INFER_DONE") {
      EXPECT_EQ(message.at("finish_reason"), "stop");
      --running;
      ++done;
    } else {
      ASSERT_EQ(message.at("type"), "INFER_CHUNK");
    }
  }
  ASSERT_EQ(accepted.size(), std::size_t{kCount});
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(accepted.at(i), std::to_string(i));
  EXPECT_EQ(server.metric("seedance_requests_waiting"), 0);
}

TEST(ServerWsLimits, ABurstOfAThousandIsTaken) {
  const TestServer server{"rate=0,length=1,sequences=64"};
  std::vector<std::unique_ptr<TestWebSocket>> sockets;
  for (int i = 0; i < 10; ++i) sockets.push_back(std::make_unique<TestWebSocket>(server.port()));
  for (int i = 0; i < 100; ++i) {
    for (const auto& socket : sockets) socket->send(infer(std::to_string(i), "x"));
  }
  for (const auto& socket : sockets) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(socket->message("INFER_DONE").at("seq"), 1);
  }
}

TEST(ServerWsLimits, MessageBytes) {
  ServerConfig config;
  config.limits.websocket.message_bytes_max = 100;
  const TestServer server{"rate=0", config};
  TestWebSocket socket{server.port()};
  socket.send(std::string(101, ' '));
  const auto frame = socket.frame();
  EXPECT_EQ(frame.opcode, wire::Opcode::close);
  EXPECT_EQ(frame.payload.substr(0, 2), "\x03\xF1");  // 1009.
}

TEST(ServerWsDetach, ADisconnectLeavesAStreamThatIsToBeKept) {
  ServerConfig config;
  config.core.orphan_ttl = Duration::zero();
  const TestServer server{"rate=1000,length=1000000", config};
  {
    TestWebSocket socket{server.port()};
    socket.send(infer("a", "x"));
    socket.send(infer("b", "x", R"(,"detach":"cancel")"));
    server.wait_for_metric("seedance_streams_running", 2);
  }
  server.wait_for_metric("seedance_streams_running", 1);
  server.wait_for_metric("seedance_websockets_open", 0);
}

TEST(ServerWsEngine, AStreamGoesOnWhenItsEngineDies) {
  const auto read = [](TestServer& server) {
    TestWebSocket socket{server.port()};
    socket.send(infer("a", "x"));
    return socket.read_stream("a");
  };
  TestServer healthy{"rate=0,length=50"};
  TestServer server{"rate=0,length=50,fault=die@20"};
  const auto stream = read(server);
  EXPECT_EQ(stream.text, read(healthy).text);
  EXPECT_EQ(stream.done.at("finish_reason"), "stop");
  EXPECT_EQ(stream.done.at("seq"), 50);
  EXPECT_GE(server.metric("seedance_engine_restarts_total"), 2);
  server.server().stop();
  server.server().stop();
  EXPECT_TRUE(server.join());
  ASSERT_FALSE(server.notices().empty());
  EXPECT_THAT(server.notices().front(), testing::EndsWith("; it is started again"));
}

// A client that does not read: nothing is lost, and what waits for it is one
// frame, not its answer.
TEST(ServerWsSlow, AReaderThatComesBackGetsEverything) {
  ServerConfig config;
  config.limits.send_buffer_bytes = 4096;
  const TestServer server{"rate=0,length=10000,context=1000000", config};
  TestWebSocket slow{server.port(), api::kJsonSubprotocol, 4096};
  slow.send(infer("slow", "x"));
  slow.message("ACCEPTED");
  TestWebSocket fast{server.port()};
  fast.send(infer("fast", "x"));
  const auto other = fast.read_stream("fast");
  server.wait_for_metric("seedance_streams_running", 0);
  const double sent = server.metric("seedance_sent_bytes_total");
  const auto stream = slow.read_stream("slow");
  EXPECT_EQ(stream.text, other.text);
  EXPECT_EQ(stream.done.at("seq"), 10000);
  // It was behind, so its tokens came in fewer and larger frames.
  EXPECT_LT(stream.chunks, 1000U);
  EXPECT_LT(sent - static_cast<double>(other.text.size()),
            static_cast<double>(other.text.size()) * 40);
}

TEST(ServerWsSlow, AReaderThatNeverReadsIsClosed) {
  ServerConfig config;
  config.limits.send_buffer_bytes = 4096;
  config.limits.stall_timeout = std::chrono::milliseconds{50};
  config.core.orphan_ttl = Duration::zero();
  const TestServer server{"rate=0,length=1000000,context=10000000", config};
  TestWebSocket slow{server.port(), api::kJsonSubprotocol, 4096};
  slow.send(infer("a", "x"));
  server.wait_for_metric("seedance_websockets_open", 1);
  server.wait_for_metric("seedance_websockets_open", 0);
}

TEST(ServerWsSlow, AClientThatOnlyAsksIsNotHeardForEver) {
  ServerConfig config;
  config.limits.send_buffer_bytes = 4096;
  config.limits.pending_bytes_max = 4096;
  config.limits.stall_timeout = std::chrono::milliseconds{50};
  const TestServer server{"rate=0", config};
  TestWebSocket socket{server.port(), api::kJsonSubprotocol, 4096};
  // Never reads its pongs, so at last the kernel takes no more pings either.
  for (int i = 0; i < 1000000 && server.metric("seedance_websockets_open") > 0; ++i) {
    for (int j = 0; j < 1000; ++j) socket.send(R"({"type":"PING","ts":1})");
  }
  EXPECT_EQ(server.metric("seedance_websockets_open"), 0);
}

// The client's side of a connection is counted too. A thousand cost less than a megabyte.
TEST(ServerWsMemory, AnIdleConnectionCostsLessThanAKilobyte) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers have an allocator of their own";
#endif
  ServerConfig config;
  config.core.terminal_ttl = Duration::zero();  // What is kept of their streams does not count.
  const TestServer server{"rate=0", config};
  constexpr std::size_t kCount = 400;
  std::vector<std::unique_ptr<TestWebSocket>> sockets;
  const auto open_more = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      sockets.push_back(std::make_unique<TestWebSocket>(server.port()));
      // Used once, then idle.
      sockets.back()->send(infer("a", "x", R"(,"max_tokens":1)"));
      sockets.back()->read_stream("a");
    }
  };
  open_more(10);  // Buffers that all share.
  const std::size_t before = mallinfo2().uordblks;
  open_more(kCount);
  const std::size_t each = (mallinfo2().uordblks - before) / kCount;
  EXPECT_LT(each, 1000U);
  RecordProperty("bytes", std::to_string(each));
}

TEST(ServerWsMerge, TokensWaitForEachOther) {
  const TestServer server{"rate=1000,length=100"};
  TestWebSocket socket{server.port()};
  // The first token, then the rest with the end.
  socket.send(infer("a", "x", R"(,"merge_ms":1000)"));
  EXPECT_LE(socket.read_stream("a").chunks, 3U);
}

TEST(ServerWsMerge, WhatWaitedIsSentBeforeTheEnd) {
  const TestServer server{"rate=1000,length=1000000"};
  TestWebSocket socket{server.port()};
  socket.send(infer("a", "x", R"(,"merge_ms":10)"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(socket.message("INFER_CHUNK").at("id"), "a");
}

}  // namespace
}  // namespace seedance::server
