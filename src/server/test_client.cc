#include "server/test_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/json/parse.hpp>
#include <future>
#include <utility>

#include "base/bytes.h"
#include "wire/ws_handshake.h"

namespace seedance::server {
namespace {

constexpr int kGiveUpSeconds = 10;
constexpr std::string_view kWebSocketKey = "AQIDBAUGBwgJCgsMDQ4PEA==";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

boost::json::value TestResponse::json() const {
  return boost::json::parse(body);
}

std::string TestResponse::error_code() const {
  const auto parsed = json();
  return parsed.at("error").at("code").as_string().c_str();
}

TestClient::TestClient(std::uint16_t port, int receive_buffer_bytes, const std::string& from)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval give_up{.tv_sec = kGiveUpSeconds, .tv_usec = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &give_up, sizeof(give_up));
  if (receive_buffer_bytes > 0) {
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(int));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (!from.empty()) {
    EXPECT_EQ(inet_pton(AF_INET, from.c_str(), &address.sin_addr), 1) << from;
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

void TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // The server closed; reading tells.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool TestClient::fill() {
  std::array<char, 65536> bytes;
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  EXPECT_FALSE(count < 0 && errno == EAGAIN) << "nothing came; so far: " << buffer_;
  if (count <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::string TestClient::read_until(std::string_view end) {
  std::size_t found = 0;
  while ((found = buffer_.find(end)) == std::string::npos) {
    if (!fill()) return std::exchange(buffer_, {});
  }
  std::string taken = buffer_.substr(0, found + end.size());
  buffer_.erase(0, taken.size());
  return taken;
}

std::string TestClient::read(std::size_t count) {
  while (buffer_.size() < count && fill()) {
  }
  std::string taken = buffer_.substr(0, count);
  buffer_.erase(0, taken.size());
  if (buffer_.empty()) std::string{}.swap(buffer_);
  return taken;
}

bool TestClient::at_end() {
  while (fill()) {
  }
  return !testing::Test::HasFailure();
}

TestResponse TestClient::response(bool has_body) {
  TestResponse response;
  const std::string head = read_until("\r\n\r\n");
  if (head.size() < 12) {
    ADD_FAILURE() << "no response: " << head;
    return response;
  }
  response.status = std::stoi(head.substr(9, 3));
  std::size_t at = head.find("\r\n") + 2;
  for (std::size_t end = 0; (end = head.find("\r\n", at)) != at && end != std::string::npos;) {
    const std::string line = head.substr(at, end - at);
    const std::size_t colon = line.find(": ");
    response.headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
    at = end + 2;
  }
  if (!has_body) return response;
  if (response.headers.contains("content-length")) {
    response.body = read(std::stoul(response.headers["content-length"]));
  } else if (response.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::size_t size = std::stoul("0" + read_until("\r\n"), nullptr, 16);
      response.body += read(size);
      if (read(2) != "\r\n" || size == 0) break;
    }
  }
  return response;
}

TestResponse TestClient::get(std::string_view path, std::string_view more_headers) {
  send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers));
  return response();
}

TestResponse TestClient::post(std::string_view path, std::string_view body,
                              std::string_view more_headers) {
  send(
      fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  "Content-Length: {}\r\n{}\r\n{}",
                  path, body.size(), more_headers, body));
  return response();
}

TestWebSocket::TestWebSocket(std::uint16_t port, std::string_view protocol,
                             int receive_buffer_bytes, std::string_view key, std::string_view query)
    : client_(port, receive_buffer_bytes) {
  const std::string target = "/ws/inference" + std::string{query};
  const std::string authorization = "Bearer " + std::string{key};  // Without a key, it is none.
  std::string request;
  wire::append_upgrade_request(request, {.host = "localhost",
                                         .target = target,
                                         .key = kWebSocketKey,
                                         .protocol = protocol,
                                         .headers = {{"Authorization", authorization}}});
  client_.send(request);
  const std::string answer = client_.read_until("\r\n\r\n");
  const auto upgrade = wire::check_upgrade_response(as_bytes(answer), kWebSocketKey, protocol);
  EXPECT_TRUE(upgrade) << answer;
}

void TestWebSocket::send(std::string_view json) {
  send_frame(wire::Opcode::text, json);
}

void TestWebSocket::send_frame(wire::Opcode opcode, std::string_view payload) {
  std::string bytes;
  const wire::MaskKey mask{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  wire::append_masked_frame(bytes, opcode, wire::Fin::yes, payload, mask);
  client_.send(bytes);
}

TestWebSocket::Frame TestWebSocket::frame() {
  std::string head = client_.read(2);
  for (;;) {
    const wire::DecodedHeader decoded = wire::decode_frame_header(as_bytes(head));
    if (decoded.status == wire::FrameStatus::whole) {
      return {decoded.header.opcode, client_.read(decoded.header.payload_bytes)};
    }
    const std::string more = client_.read(1);
    if (decoded.status == wire::FrameStatus::malformed || more.empty()) {
      ADD_FAILURE() << "no frame";
      return {.opcode = wire::Opcode::close, .payload = {}};
    }
    head += more;
  }
}

boost::json::object TestWebSocket::message() {
  const Frame got = frame();
  if (got.opcode != wire::Opcode::text) {
    ADD_FAILURE() << "no text message: opcode " << static_cast<int>(got.opcode);
    return {{"type", "none"}};
  }
  return boost::json::parse(got.payload).as_object();
}

boost::json::object TestWebSocket::message(std::string_view wanted_type) {
  for (;;) {
    boost::json::object got = message();
    if (got.at("type").as_string() == wanted_type || testing::Test::HasFailure()) return got;
  }
}

TestWebSocket::Stream TestWebSocket::read_stream(std::string_view id) {
  Stream stream;
  for (std::int64_t seq = 0;;) {
    boost::json::object got = message();
    if (testing::Test::HasFailure()) return stream;
    if (got.at("id").as_string() != id) continue;
    if (got.at("type") == "INFER_CHUNK") {
      EXPECT_EQ(got.at("seq").as_int64(), seq);
      seq += got.at("n").as_int64();
      stream.text += got.at("text").as_string();
      ++stream.chunks;
    } else if (got.at("type") == "INFER_DONE") {
      EXPECT_EQ(got.at("seq").as_int64(), seq);
      stream.done = std::move(got);
      return stream;
    }
  }
}

void TestWebSocket::close() {
  Frame got = frame();
  // A stream's end may overtake it: readers see that in the log, whoever woke them.
  if (got.payload.contains("GOAWAY")) got = frame();
  EXPECT_EQ(got.opcode, wire::Opcode::close) << got.payload;
  send_frame(wire::Opcode::close, got.payload.substr(0, 2));
}

std::shared_ptr<const auth::Gate> key_gate(std::vector<std::string> keys) {
  return std::make_shared<const auth::Gate>(auth::GateRules{.plain_keys = std::move(keys)});
}

ServerConfig scripted_config(std::string script) {
  ServerConfig config;
  config.port = 0;
  config.models = {{.name = "tale", .version = 1, .engine = ScriptedModel{std::move(script)}}};
  return config;
}

TestServer::TestServer(std::string script, ServerConfig config) {
  config.port = 0;
  config.models = scripted_config(std::move(script)).models;
  start(std::move(config), {});
}

TestServer::TestServer(ServerConfig config, std::vector<io::Listener> listeners) {
  start(std::move(config), std::move(listeners));
}

void TestServer::start(ServerConfig&& config, std::vector<io::Listener>&& listeners) {
  auto server = Server::open(std::move(config), std::move(listeners));
  if (!server) throw std::runtime_error(server.error().detail);
  server_ = std::move(*server);
  auto ready = std::make_shared<std::promise<ReadyReport>>();
  thread_ = std::jthread([this, ready] {
    outcome_ = server_->run([&](const ReadyReport& report) { ready->set_value(report); },
                            [&](const std::string& notice) { notices_.push_back(notice); });
  });
  report_ = ready->get_future().get();
}

TestServer::~TestServer() {
  // The first asks, the second does not wait for streams.
  server_->stop();
  server_->stop();
}

Result<void> TestServer::join() {
  thread_.join();
  return *outcome_;
}

double TestServer::metric(std::string_view name) const {
  const std::string text = TestClient{port(), 0, "127.0.0.2"}.get("/metrics").body;
  const std::string line = fmt::format("\n{} ", name);
  const std::size_t at = text.find(line);
  return at == std::string::npos ? 0 : std::stod(text.substr(at + line.size()));
}

void TestServer::wait_for_metric(std::string_view name, double value) const {
  double now = 0;
  for (int i = 0; i < 20000; ++i) {
    now = metric(name);
    if (now == value) return;
    std::this_thread::yield();
  }
  ADD_FAILURE() << name << " is " << now << ", not " << value;
}

}  // namespace seedance::server
