#include "load/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "io/channel.h"
#include "io/poller.h"
#include "io/socket.h"
#include "io/test_tls.h"

namespace seedance::loadgen {
namespace {

using namespace std::chrono_literals;

// Answers HTTP requests one after the other, as the test says it.
class FakeServer {
 public:
  struct Reply {
    std::string bytes;
    bool closes = false;
  };

  explicit FakeServer(std::function<Reply(int request)> reply, const io::TlsContext* tls = nullptr)
      : reply_(std::move(reply)), tls_(tls) {
    auto listener = io::Listener::open({.host = "127.0.0.1"});
    port_ = listener->port();
    socket_ = std::move(*listener).take_fd();
    fcntl(socket_.get(), F_SETFL, 0);
    thread_ = std::jthread([this] { serve(); });
  }
  ~FakeServer() { shutdown(socket_.get(), SHUT_RDWR); }

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    for (;;) {
      io::Fd peer{accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK)};
      if (!peer.is_open()) return;
      io::Channel channel{std::move(peer), tls_};
      converse(channel);
    }
  }

  void converse(io::Channel& peer) {
    auto poller = io::Poller::open();
    EXPECT_TRUE(poller->add(peer.fd(), {1}));
    std::string input;
    std::array<std::byte, 4096> buffer;
    for (io::Moved moved; (moved = peer.receive(buffer)).flow != io::Moved::Flow::closed;) {
      if (moved.bytes == 0) {
        poller->wait(kNever);
        continue;
      }
      if (input.empty()) ++connections_;
      input += as_text(Bytes{buffer}.first(moved.bytes));
      if (!input.ends_with('}') && !input.starts_with("GET ")) continue;
      const Reply reply = reply_(requests_++);
      peer.send(reply.bytes);
      if (reply.closes) return;
    }
  }

  std::function<Reply(int)> reply_;
  const io::TlsContext* tls_;
  io::Fd socket_;
  std::uint16_t port_ = 0;
  std::atomic<int> requests_ = 0;
  std::atomic<int> connections_ = 0;
  std::jthread thread_;
};

std::string with_body(std::string_view status, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

const std::string kAnswer =
    with_body("200 OK", "data: {\"choices\":[{\"text\":\"Hi\"}]}\n\ndata: [DONE]\n\n");

RunOptions options_for(std::uint16_t port, std::uint64_t requests) {
  return {.target = {.host = "127.0.0.1",
                     .port = port,
                     .path = "/v1/completions",
                     .api = Api::completions},
          .shape = {.concurrency = 1, .requests = requests}};
}

Result<RunResult> run_load(const RunOptions& options) {
  const auto requests =
      Requests::make({.api = options.target.api}, *Prompts::make({}, options.target.api));
  return run(options, *requests, nullptr);
}

TEST(Runner, CountsWhatServersAnswer) {
  const FakeServer server{[](int request) -> FakeServer::Reply {
    switch (request) {
      case 0:
        return {with_body("503 No", R"({"error":{"code":"overloaded","message":"m"}})")};
      case 1:
        return {with_body("200 OK", "data: {\n\n")};
      case 2:
        return {"nonsense\r\n\r\n"};
      case 3:
        return {kAnswer.substr(0, kAnswer.size() - 5), true};
      default:
        return {kAnswer};
    }
  }};
  const auto result = run_load(options_for(server.port(), 7));
  ASSERT_TRUE(result) << result.error().detail;
  const auto& failures = result->statistics.failures();
  EXPECT_EQ(result->statistics.measured().succeeded, 3U);
  EXPECT_EQ(result->statistics.measured().failed, 4U);
  EXPECT_EQ(failures.at("overloaded").count, 1U);
  EXPECT_EQ(failures.at("overloaded").first, "m");
  EXPECT_EQ(failures.at("malformed_answer").count, 2U);
  EXPECT_EQ(failures.at("connection_lost").count, 1U);
  EXPECT_EQ(result->statistics.tokens(), 4U);  // One came before the connection was lost.
  EXPECT_FALSE(result->interrupted);
}

TEST(Runner, LeavesTheWarmUpOutOfItsOwnWork) {
  const FakeServer server{[](int) -> FakeServer::Reply { return {kAnswer}; }};
  RunOptions options = options_for(server.port(), 5);
  const auto all = run_load(options);
  ASSERT_TRUE(all);
  EXPECT_GT(all->cpu_over, Duration{});
  options.shape.warmup.requests = 2;
  const auto warm = run_load(options);
  ASSERT_TRUE(warm);
  EXPECT_GT(warm->cpu_over, Duration{});
  EXPECT_LT(warm->cpu_over, warm->elapsed);
}

TEST(Runner, KeepsConnectionsWhereItMay) {
  for (const bool keep : {true, false}) {
    const FakeServer server{[](int) -> FakeServer::Reply { return {kAnswer}; }};
    RunOptions options = options_for(server.port(), 5);
    options.target.keep_alive = keep;
    const auto result = run_load(options);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->statistics.measured().succeeded, 5U);
    EXPECT_EQ(server.connections(), keep ? 1 : 5);
  }
}

// Each answer is whole, and the connection is closed behind it without notice: what
// was asked over it meanwhile is asked again, and is no failure.
TEST(Runner, AsksAgainWhatAClosedConnectionNeverBrought) {
  const FakeServer server{[](int) -> FakeServer::Reply { return {kAnswer, true}; }};
  const auto result = run_load(options_for(server.port(), 20));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->statistics.measured().succeeded, 20U);
}

TEST(Runner, TakesAnOpenLoopToItsEnd) {
  const FakeServer server{[](int) -> FakeServer::Reply { return {kAnswer}; }};
  RunOptions options = options_for(server.port(), 10);
  options.shape.rate = 10'000;
  options.shape.in_flight_max = 1;  // The server takes one connection after the other.
  const auto result = run_load(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->statistics.measured().succeeded, 10U);
  EXPECT_EQ(result->statistics.of(Figure::send_delay).count(), 10U);
}

TEST(Runner, GivesUpAServerThatIsSilent) {
  const FakeServer server{[](int) -> FakeServer::Reply { return {""}; }};
  RunOptions options = options_for(server.port(), 1);
  options.timeout = 10ms;
  const auto result = run_load(options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->statistics.failures().at("timeout").count, 1U);
}

TEST(Runner, FailsAtOnceWhereThereIsNoServer) {
  std::uint16_t port = 0;
  {
    const FakeServer server{[](int) -> FakeServer::Reply { return {""}; }};
    port = server.port();
  }
  const auto result = run_load(options_for(port, 1));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().detail.find("refused"), std::string::npos);
}

TEST(Runner, FailsAtOnceWhereNobodySpeaksWebSocket) {
  const FakeServer server{
      [](int) -> FakeServer::Reply { return {with_body("404 Not Found", "")}; }};
  RunOptions options = options_for(server.port(), 1);
  options.target.api = Api::native;
  options.connections = 1;
  const auto result = run_load(options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().detail.find("404 Not Found"), std::string::npos);
}

// A server with a certificate of an authority of its own.
class RunnerTls : public testing::Test {
 protected:
  static io::TlsContext open(const io::TestAuthority::Files& files) {
    auto context =
        io::TlsContext::open({.certificate_file = files.certificate, .key_file = files.key});
    EXPECT_TRUE(context) << context.error().detail;
    return std::move(*context);
  }

  RunOptions options(std::uint64_t requests) const {
    RunOptions out = options_for(server_.port(), requests);
    out.target.tls = {.ca_file = authority_.certificate_file()};
    return out;
  }

  io::TestAuthority authority_;
  io::TlsContext context_ = open(authority_.issue("server"));
  FakeServer server_{[](int) -> FakeServer::Reply { return {kAnswer}; }, &context_};
};

TEST_F(RunnerTls, AsksOverTls) {
  const auto result = run_load(options(5));
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(result->statistics.measured().succeeded, 5U);
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(RunnerTls, AsksNothingOfAServerThatIsNotTrusted) {
  RunOptions wrong = options(5);
  wrong.target.tls = io::TlsClientOptions{};
  const auto result = run_load(wrong);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().detail, testing::HasSubstr("CN=server"));
  EXPECT_EQ(server_.connections(), 0);
}

TEST_F(RunnerTls, SaysWhichFileIsWrong) {
  RunOptions wrong = options(5);
  wrong.target.tls = {.ca_file = "/nowhere"};
  const auto result = run_load(wrong);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().detail, testing::HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace seedance::loadgen
