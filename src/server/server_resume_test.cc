// Coming back to streams, over real sockets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <optional>

#include "api/event_id.h"
#include "server/test_client.h"
#include "wire/sse.h"

namespace seedance::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kEndless = "rate=1000,length=1000000";

std::string infer(std::string_view id, std::string_view more = "") {
  return fmt::format(R"({{"type":"INFER_REQ","id":"{}","prompt":"x"{}}})", id, more);
}

std::string resume(std::string_view stream, std::int64_t seq, std::string_view more = "") {
  return fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":{},"epoch":1{}}})", stream,
                     seq, more);
}

std::string chat(std::string_view more = "") {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}]{}}})", more);
}

std::string text(const boost::json::value& value) {
  return value.as_string().c_str();
}

// What a client has of one native stream, over any number of connections.
struct Half {
  std::string stream;
  std::string text;
  std::int64_t next = 0;
  std::optional<boost::json::object> done;

  // True when it was the end.
  bool on_message(const boost::json::object& message) {
    const boost::json::value& type = message.at("type");
    if (type == "ACCEPTED") stream = message.at("stream").as_string();
    if (type == "INFER_CHUNK") {
      EXPECT_EQ(message.at("seq").as_int64(), next) << "gap or repeat";
      next += message.at("n").as_int64();
      text += message.at("text").as_string();
    }
    if (type != "INFER_DONE") return false;
    EXPECT_EQ(message.at("seq").as_int64(), next);
    done = message;
    return true;
  }
};

void expect_no_loss(const TestServer& server) {
  EXPECT_EQ(server.metric("seedance_seq_gap_total"), 0);
  EXPECT_EQ(server.metric("seedance_frame_loss_total"), 0);
}

double resumes(const TestServer& server, std::string_view cause) {
  return server.metric(fmt::format("seedance_resumes_total{{cause=\"{}\"}}", cause));
}

TEST(ServerResume, AClientThatIsCutOffGetsTheRest) {
  const TestServer server{"rate=2000,length=400"};
  Half half;
  int connections = 0;
  while (!half.done && connections < 100) {
    TestWebSocket socket{server.port()};
    socket.send(connections++ == 0 ? infer("r") : resume(half.stream, half.next));
    // Then the connection is cut, with frames on their way.
    for (int i = 0; i < 20 && !half.on_message(socket.message()); ++i) ASSERT_FALSE(HasFailure());
  }
  ASSERT_TRUE(half.done);
  EXPECT_EQ(half.next, 400);
  TestWebSocket socket{server.port()};
  socket.send(resume(half.stream, 0));
  EXPECT_EQ(socket.message("RESUMED").at("state"), "done");
  const auto whole = socket.read_stream("r");
  EXPECT_EQ(whole.text, half.text);
  EXPECT_EQ(whole.done.at("sha256"), half.done->at("sha256"));
  EXPECT_EQ(resumes(server, "native"), connections);
  expect_no_loss(server);
}

TEST(ServerResume, WrongPlacesAreErrors) {
  const TestServer server{"rate=0,length=5"};
  TestWebSocket socket{server.port()};
  socket.send(infer("a"));
  const std::string stream = text(socket.message("ACCEPTED").at("stream"));
  socket.read_stream("a");
  socket.send(resume(stream, 6));
  const auto ahead = socket.message("ERROR");
  EXPECT_EQ(ahead.at("code"), "cursor_ahead");
  EXPECT_EQ(ahead.at("id"), "r");
  EXPECT_EQ(text(ahead.at("stream")), stream);
  socket.send(
      fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":1,"epoch":2}})", stream));
  EXPECT_EQ(socket.message("ERROR").at("code"), "epoch_mismatch");
  socket.send(resume("st_00000000000000000000000000", 0));
  EXPECT_EQ(socket.message("ERROR").at("code"), "stream_not_found");
  socket.send(resume(stream, 5));
  EXPECT_EQ(socket.message("RESUMED").at("from"), 5);
  EXPECT_EQ(socket.message().at("type"), "INFER_DONE");
}

TEST(ServerResume, EveryReaderOfAStreamGetsAllOfIt) {
  ServerConfig config;
  config.edges = 2;
  const TestServer server{"rate=2000,length=300", config};
  TestWebSocket first{server.port()};
  first.send(infer("a"));
  const std::string stream = text(first.message("ACCEPTED").at("stream"));
  std::array<std::unique_ptr<TestWebSocket>, 5> others;
  for (auto& other : others) {
    other = std::make_unique<TestWebSocket>(server.port());
    other->send(resume(stream, 0));
    other->send(fmt::format(R"({{"type":"RESUME","id":"again","stream":"{}"}})", stream));
  }
  const auto whole = first.read_stream("a");
  for (auto& other : others) {
    std::array<Half, 2> halves;
    while (!halves[0].done || !halves[1].done) {
      const auto message = other->message();
      ASSERT_FALSE(HasFailure());
      halves.at(message.at("id") == "r" ? 0 : 1).on_message(message);
    }
    for (const Half& half : halves) EXPECT_EQ(half.text, whole.text);
  }
  expect_no_loss(server);
}

TEST(ServerResume, AKeyLeadsToTheSameStream) {
  const TestServer server{"rate=0,length=20"};
  TestWebSocket socket{server.port()};
  socket.send(infer("a", R"(,"key":"k")"));
  const auto accepted = socket.message("ACCEPTED");
  EXPECT_EQ(accepted.at("attached"), false);
  const auto whole = socket.read_stream("a");
  TestWebSocket other{server.port()};
  other.send(infer("b", R"(,"key":"k")"));
  const auto again = other.message("ACCEPTED");
  EXPECT_EQ(again.at("attached"), true);
  EXPECT_EQ(again.at("stream"), accepted.at("stream"));
  EXPECT_EQ(other.read_stream("b").text, whole.text);
  other.send(infer("c", R"(,"key":"k","temperature":0.5)"));
  EXPECT_EQ(other.message("ERROR").at("code"), "idempotency_mismatch");
  EXPECT_EQ(resumes(server, "key"), 1);
}

TEST(ServerResume, AnAckShortensWhatIsKept) {
  ServerConfig config;
  config.core.acked_ttl = Duration::zero();
  const TestServer server{"rate=0,length=5", config};
  TestWebSocket socket{server.port()};
  socket.send(infer("a"));
  const std::string stream = text(socket.message("ACCEPTED").at("stream"));
  socket.read_stream("a");
  socket.send(R"({"type":"ACK","id":"a","seq":4})");  // Not the total.
  socket.send(resume(stream, 0));
  EXPECT_EQ(socket.message().at("type"), "RESUMED");
  socket.read_stream("r");
  socket.send(R"({"type":"ACK","id":"a","seq":5})");
  boost::json::object answer;
  for (int i = 0; i < 1000 && !answer.contains("code"); ++i) {
    socket.send(resume(stream, 5));
    answer = socket.message();
    if (!answer.contains("code")) socket.message("INFER_DONE");
  }
  EXPECT_EQ(answer.at("code"), "stream_expired");
}

// What comes of events, as a client of OpenAI's API reads them.
struct Answer {
  std::string text;
  std::string last_id;
  int roles = 0;
  bool done = false;

  void on_events(std::string_view body) {
    wire::SseParser parser;
    parser.on_input(body);
    while (const auto event = parser.next()) {
      last_id = event->id;
      if (event->data == "[DONE]") {
        done = true;
        continue;
      }
      const auto chunk = boost::json::parse(event->data);
      const auto& delta = chunk.at("choices").at(0).at("delta").as_object();
      if (delta.contains("role")) ++roles;
      if (delta.contains("content")) text += delta.at("content").as_string();
    }
  }
};

TEST(ServerSseResume, AClientThatIsCutOffGetsTheRest) {
  const TestServer server{"rate=2000,length=1000"};
  const std::string body = chat(R"(,"stream":true)");
  Answer answer;
  std::string stream;
  {
    TestClient client{server.port()};
    client.send(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    body.size(), body));
    const std::string head = client.read_until("\r\n\r\n");
    const std::size_t at = head.find("Seedance-Stream: ");
    ASSERT_NE(at, std::string::npos);
    stream = head.substr(at + 17, 29);
    // A few whole events of it.
    for (int i = 0; i < 5; ++i) {
      const std::string size = client.read_until("\r\n");
      answer.on_events(client.read(std::stoul(size, nullptr, 16)));
      client.read(2);
    }
  }
  TestClient client{server.port()};
  const TestResponse rest = client.get(fmt::format("/v1/streams/{}", stream),
                                       fmt::format("Last-Event-ID: {}\r\n", answer.last_id));
  EXPECT_EQ(rest.status, 200);
  EXPECT_EQ(rest.headers.at("seedance-stream"), stream);
  answer.on_events(rest.body);
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(answer.roles, 1);
  Answer whole;
  whole.on_events(client.get(fmt::format("/v1/streams/{}", stream)).body);
  EXPECT_EQ(whole.text, answer.text);
  EXPECT_EQ(whole.last_id, answer.last_id);
  EXPECT_EQ(whole.last_id, stream + ":1:1000");
  EXPECT_EQ(resumes(server, "sse"), 2);
  expect_no_loss(server);
}

TEST(ServerSseResume, WrongPlacesHaveTheirStatus) {
  const TestServer server{"rate=0,length=5"};
  TestClient client{server.port()};
  const std::string stream =
      client.post("/v1/chat/completions", chat()).headers.at("seedance-stream");
  const auto get = [&](std::string_view query, std::string_view headers = "") {
    const TestResponse got = client.get(fmt::format("/v1/streams/{}{}", stream, query), headers);
    return fmt::format("{} {}", got.status, got.status == 200 ? "" : got.error_code());
  };
  EXPECT_EQ(get("?from=5&epoch=1"), "200 ");
  EXPECT_EQ(get("?from=6&epoch=1"), "409 cursor_ahead");
  EXPECT_EQ(get("?from=1&epoch=2"), "409 epoch_mismatch");
  EXPECT_EQ(get("?from=1"), "400 invalid_request");
  EXPECT_EQ(get("", fmt::format("Last-Event-ID: {}:1:6\r\n", stream)), "409 cursor_ahead");
  EXPECT_EQ(get("", "Last-Event-ID: 3\r\n"), "400 invalid_request");
  EXPECT_EQ(get("", "Last-Event-ID: st_00000000000000000000000000:1:0\r\n"), "400 invalid_request");
  EXPECT_EQ(client.get("/v1/streams/st_00000000000000000000000000").error_code(),
            "stream_not_found");
  EXPECT_EQ(client.get("/v1/streams/nothing").status, 404);
}

TEST(ServerSseResume, ANativeStreamGoesOnOverHttp) {
  const TestServer server{"rate=0,length=30"};
  TestWebSocket socket{server.port()};
  socket.send(infer("a"));
  const std::string stream = text(socket.message("ACCEPTED").at("stream"));
  const auto whole = socket.read_stream("a");
  TestClient client{server.port()};
  const std::string body =
      client.get(fmt::format("/v1/streams/{}?from=10&epoch=1&with=tokens", stream)).body;
  wire::SseParser parser;
  parser.on_input(body);
  Half half{.next = 10};
  const auto first = boost::json::parse(parser.next()->data);
  EXPECT_EQ(first.at("type"), "RESUMED");
  EXPECT_EQ(first.at("from"), 10);
  while (const auto event = parser.next()) {
    half.on_message(boost::json::parse(event->data).as_object());
    EXPECT_EQ(event->id, fmt::format("{}:1:{}", stream, half.next));
  }
  ASSERT_TRUE(half.done);
  EXPECT_THAT(whole.text, EndsWith(half.text));
  const TestResponse as_chat = client.get(fmt::format("/v1/streams/{}?as=chat", stream));
  Answer answer;
  answer.on_events(as_chat.body);
  EXPECT_EQ(answer.text, whole.text);
}

TEST(ServerStreams, AreListedAndCancelled) {
  const TestServer server{std::string{kEndless}};
  TestClient client{server.port()};
  EXPECT_EQ(client.get("/v1/streams").body, R"({"object":"list","data":[]})");
  TestWebSocket socket{server.port()};
  socket.send(infer("a"));
  const std::string stream = text(socket.message("ACCEPTED").at("stream"));
  socket.message("INFER_CHUNK");
  const auto listed = client.get("/v1/streams").json().at("data").at(0);
  EXPECT_EQ(text(listed.at("stream")), stream);
  EXPECT_EQ(listed.at("state"), "decode");
  EXPECT_TRUE(listed.at("finish_reason").is_null());
  client.send(fmt::format("DELETE /v1/streams/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", stream));
  const TestResponse cancelled = client.response();
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.json().at("object"), "stream.cancelled");
  EXPECT_EQ(socket.message("INFER_DONE").at("finish_reason"), "cancelled");
  const auto done = client.get("/v1/streams").json().at("data").at(0);
  EXPECT_EQ(done.at("state"), "done");
  EXPECT_EQ(done.at("finish_reason"), "cancelled");
  EXPECT_FALSE(done.at("expires_at").is_null());
  client.send(
      "DELETE /v1/streams/st_00000000000000000000000000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.response().error_code(), "stream_not_found");
}

TEST(ServerStreams, AreGuardedLikeEverythingElse) {
  ServerConfig config;
  config.gate = key_gate({"k"});
  config.allowed_origins = {"https://app.example"};
  const TestServer server{"rate=0,length=3", config};
  TestClient client{server.port()};
  constexpr std::string_view kKey = "Authorization: Bearer k\r\n";
  EXPECT_EQ(client.get("/v1/streams").status, 401);
  EXPECT_EQ(client.get("/v1/streams/st_1").status, 401);
  client.send(fmt::format("POST /v1/streams HTTP/1.1\r\nHost: localhost\r\n{}\r\n", kKey));
  EXPECT_EQ(client.response().headers.at("allow"), "GET, HEAD, OPTIONS");
  client.send(fmt::format("POST /v1/streams/st_1 HTTP/1.1\r\nHost: localhost\r\n{}\r\n", kKey));
  EXPECT_EQ(client.response().headers.at("allow"), "GET, HEAD, DELETE, OPTIONS");
  const TestResponse answer = client.post("/v1/chat/completions", chat(),
                                          fmt::format("{}Origin: https://app.example\r\n", kKey));
  EXPECT_EQ(answer.headers.at("access-control-expose-headers"), "Retry-After, Seedance-Stream");
  client.send(fmt::format("HEAD /v1/streams/{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
                          answer.headers.at("seedance-stream"), kKey));
  const TestResponse head = client.response(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.headers.at("content-type"), StartsWith("text/event-stream"));
  client.send(fmt::format("HEAD /v1/streams HTTP/1.1\r\nHost: localhost\r\n{}\r\n", kKey));
  EXPECT_NE(client.response(false).headers.at("content-length"), "0");
}

TEST(ServerKeyedHttp, ARequestSentTwiceIsOneStream) {
  ServerConfig config;
  config.core.orphan_ttl = Duration::zero();
  const TestServer server{"rate=1000,length=100", config};
  const std::string body = chat(R"(,"stream":true)");
  {
    // Gone before its answer: with a key it can come back.
    TestClient client{server.port()};
    client.send(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                    "Idempotency-Key: k\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body));
    client.read_until("data: ");
  }
  TestClient client{server.port()};
  const TestResponse again = client.post("/v1/chat/completions", body, "Idempotency-Key: k\r\n");
  EXPECT_THAT(again.body, HasSubstr(R"("finish_reason":"stop")"));
  // The same, whole: how it is shown is no part of the question.
  const TestResponse whole = client.post("/v1/chat/completions", chat(), "Idempotency-Key: k\r\n");
  EXPECT_EQ(whole.headers.at("seedance-stream"), again.headers.at("seedance-stream"));
  Answer answer;
  answer.on_events(again.body);
  EXPECT_EQ(text(whole.json().at("choices").at(0).at("message").at("content")), answer.text);
  const TestResponse other =
      client.post("/v1/chat/completions", chat(R"(,"max_tokens":1)"), "Idempotency-Key: k\r\n");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.error_code(), "idempotency_mismatch");
  EXPECT_EQ(client.get("/v1/streams").json().at("data").as_array().size(), 1U);
}

// It costs a cursor, never a generation.
TEST(ServerStall, AReaderThatComesBackAfterItsConnectionWasClosedGetsEverything) {
  ServerConfig config;
  config.limits.send_buffer_bytes = 4096;
  config.limits.stall_timeout = std::chrono::milliseconds{50};
  const TestServer server{"rate=0,length=20000,context=1000000", config};
  std::string stream;
  {
    TestWebSocket slow{server.port(), api::kJsonSubprotocol, 4096};
    slow.send(infer("a", R"(,"with":["tokens"])"));
    stream = text(slow.message("ACCEPTED").at("stream"));
    server.wait_for_metric("seedance_websockets_open", 0);
    server.wait_for_metric("seedance_streams_running", 0);
  }
  TestWebSocket socket{server.port()};
  socket.send(resume(stream, 0));
  EXPECT_EQ(socket.read_stream("r").done.at("seq"), 20000);
  expect_no_loss(server);
}

// Whoever reads at last finds out why there is no more.
TEST(ServerStall, AReaderThatTookNothingIsToldSo) {
  ServerConfig config;
  config.limits.send_buffer_bytes = 4096;
  config.limits.stall_timeout = std::chrono::milliseconds{50};
  const TestServer server{"rate=0,length=20000,context=1000000", config};
  TestWebSocket slow{server.port(), api::kJsonSubprotocol, 4096};
  slow.send(infer("a"));
  server.wait_for_metric("seedance_connections_stalled_total", 1);
  TestWebSocket::Frame frame = slow.frame();
  while (frame.opcode != wire::Opcode::close) frame = slow.frame();
  const auto code = load<std::uint16_t>(as_bytes(frame.payload).data(), std::endian::big);
  EXPECT_EQ(code, static_cast<std::uint16_t>(wire::CloseCode::overloaded));
}

}  // namespace
}  // namespace seedance::server
