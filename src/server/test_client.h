// Blocking clients for tests, and a server in a thread of its own.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/native.h"
#include "io/fd.h"
#include "server/server.h"
#include "wire/ws_frame.h"

namespace seedance::server {

struct TestResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;                            // Without chunk heads.

  boost::json::value json() const;
  std::string error_code() const;  // Of an OpenAI-shaped body.
};

// A TCP connection. Reading gives up, and fails the test, after ten seconds.
class TestClient {
 public:
  // `from` is an address of this machine; empty = 127.0.0.1.
  explicit TestClient(std::uint16_t port, int receive_buffer_bytes = 0,
                      const std::string& from = "");

  void send(std::string_view bytes);
  std::string read_until(std::string_view end);
  std::string read(std::size_t count);
  bool at_end();  // Waits for the server to close; what comes before that is lost.
  TestResponse response(bool has_body = true);
  TestResponse get(std::string_view path, std::string_view more_headers = "");
  TestResponse post(std::string_view path, std::string_view body,
                    std::string_view more_headers = "");
  void close() { socket_.close(); }
  const io::Fd& socket() const { return socket_; }

 private:
  bool fill();

  io::Fd socket_;
  std::string buffer_;
};

// A WebSocket on the native route.
class TestWebSocket {
 public:
  explicit TestWebSocket(std::uint16_t port, std::string_view protocol = api::kJsonSubprotocol,
                         int receive_buffer_bytes = 0, std::string_view key = "",
                         std::string_view query = "");

  void send(std::string_view json);
  void send_frame(wire::Opcode opcode, std::string_view payload);

  struct Frame {
    wire::Opcode opcode = wire::Opcode::text;
    std::string payload;
  };
  Frame frame();
  boost::json::object message();                              // The next frame, as text.
  boost::json::object message(std::string_view wanted_type);  // Skips others.

  // All chunks up to INFER_DONE; checks that they follow each other.
  struct Stream {
    std::string text;
    std::uint64_t chunks = 0;
    boost::json::object done;
  };
  Stream read_stream(std::string_view id);

  // Awaits the server's Close and answers it.
  void close();

  TestClient& client() { return client_; }

 private:
  TestClient client_;
};

// Runs until destroyed. Ready when constructed.
class TestServer {
 public:
  explicit TestServer(std::string script = "rate=0", ServerConfig config = {});
  explicit TestServer(ServerConfig config, std::vector<io::Listener> listeners = {});
  ~TestServer();

  std::uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }
  const ReadyReport& report() const { return report_; }
  // With its labels. 0 when it is not there. Asked for from 127.0.0.2.
  double metric(std::string_view name) const;
  void wait_for_metric(std::string_view name, double value) const;

  // Waits for run() to return.
  Result<void> join();

  // What the operator was told; after join().
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  void start(ServerConfig&& config, std::vector<io::Listener>&& listeners);

  std::unique_ptr<Server> server_;
  ReadyReport report_;
  std::vector<std::string> notices_;
  std::optional<Result<void>> outcome_;
  std::jthread thread_;
};

// Asks for one of these keys, each of which is an admin's.
std::shared_ptr<const auth::Gate> key_gate(std::vector<std::string> keys);

// A config whose only model is a script.
ServerConfig scripted_config(std::string script);

}  // namespace seedance::server
