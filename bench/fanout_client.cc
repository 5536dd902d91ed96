// Holds many WebSockets open, asks on each once (unless --silent), and counts what comes.
//
//   seedance_bench_fanout --port N [--connections N] [--target PATH] [--protocol NAME]
//       [--message JSON] [--warmup SECONDS] [--seconds SECONDS] [--period-ms N] [--pid PID]
//       [--silent]
//
// Prints one JSON line: frames and bytes of the time behind the warm-up; the CPU time that process
// PID and its threads took in it; with --period-ms also the tokens ("seq" and "n" of each chunk)
// and how late they were, against the most punctual token of their connection.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/poller.h"
#include "io/socket.h"
#include "wire/ws_frame.h"
#include "wire/ws_handshake.h"

namespace {

using namespace seedance;

constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::uint32_t kOpeningMax = 256;  // Handshakes at the same time.
constexpr Duration kPause = std::chrono::milliseconds{1};
constexpr std::size_t kLatenessMax = 100'000;  // Milliseconds told apart.

struct Options {
  std::uint16_t port = 0;
  std::uint32_t connections = 1000;
  std::string target = "/ws/inference";
  std::string protocol = "seedance.v2+json";
  std::string message = "{}";
  double warmup = 5;
  double seconds = 20;
  double period_ms = 0;
  int pid = 0;
  bool silent = false;
};

struct Connection {
  io::Fd socket;
  std::string input;  // The rest of a frame, or the answer to the handshake.
  bool open = false;
  bool answered = false;
  double most_punctual = std::numeric_limits<double>::infinity();
};

[[noreturn]] void fail_with(std::string_view sentence) {
  fmt::print(stderr, "seedance_bench_fanout: {}\n", sentence);
  std::exit(1);
}

// Seconds of a process and all of its threads, user and system.
double cpu_seconds(int pid) {
  if (pid == 0) return 0;
  std::ifstream file{fmt::format("/proc/{}/stat", pid)};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (text.empty()) return 0;
  text.erase(0, text.rfind(')') + 2);
  std::uint64_t ticks = 0;
  for (int field = 3; field <= 15; ++field) {
    const std::size_t space = text.find(' ');
    if (field >= 14) ticks += std::stoull(text.substr(0, space));
    text.erase(0, space + 1);
  }
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t number_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return -1;
  std::int64_t value = -1;
  std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  return value;
}

class Client {
 public:
  explicit Client(const Options& options)
      : options_(options), connections_(options.connections), buffer_(std::size_t{256} << 10) {
    auto poller = io::Poller::open();
    if (!poller) fail_with(poller.error().detail);
    poller_.emplace(std::move(*poller));
    wire::append_upgrade_request(
        request_,
        {.host = "localhost", .target = options.target, .key = kKey, .protocol = options.protocol});
    wire::append_masked_frame(ask_, wire::Opcode::text, wire::Fin::yes, options.message, {});
  }

  void run() {
    while (open_ < connections_.size()) {
      while (begun_ < connections_.size() && begun_ - open_ < kOpeningMax) begin(begun_++);
      turn(io::now() + std::chrono::milliseconds{10});
    }
    for (std::size_t asked = 0; answered_ < connections_.size() && !options_.silent;) {
      while (asked < connections_.size() && asked - answered_ < kOpeningMax / 2) {
        (void)io::send(connections_[asked++].socket, ask_);
      }
      turn(io::now() + std::chrono::milliseconds{10});
    }
    run_until(io::now() + from_seconds(options_.warmup));
    measuring_ = true;
    const double cpu = cpu_seconds(options_.pid);
    const double own = own_cpu_seconds();
    const TimePoint began = io::now();
    run_until(began + from_seconds(options_.seconds));
    report(to_ms(io::now() - began) / 1000, cpu_seconds(options_.pid) - cpu,
           own_cpu_seconds() - own);
  }

 private:
  static Duration from_seconds(double seconds) {
    return Duration{static_cast<std::int64_t>(seconds * 1e9)};
  }

  void begin(std::size_t index) {
    io::Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(options_.port);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      fail_with(fmt::format("connection {}: {}", index, std::strerror(errno)));
    }
    if (auto added = poller_->add(socket, {index}); !added) fail_with(added.error().detail);
    (void)io::send(socket, request_);
    connections_[index].socket = std::move(socket);
  }

  // Sleeps between two looks, so that no send has to wake anybody: over a network none would.
  void run_until(TimePoint end) {
    while (io::now() < end) {
      turn(TimePoint{});
      std::this_thread::sleep_for(kPause);
    }
  }

  void turn(TimePoint until) {
    for (const io::Ready& ready : poller_->wait(until)) read(connections_[ready.token.value]);
  }

  void read(Connection& connection) {
    for (;;) {
      const ssize_t count =
          recv(connection.socket.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count == 0) fail_with("the server closed a connection");
      if (count < 0) return;
      bytes_ += measuring_ ? static_cast<std::uint64_t>(count) : 0;
      take(connection, {buffer_.data(), static_cast<std::size_t>(count)});
      if (static_cast<std::size_t>(count) < buffer_.size()) return;
    }
  }

  void take(Connection& connection, std::string_view bytes) {
    if (!connection.input.empty()) {
      connection.input += bytes;
      joined_.swap(connection.input);
      connection.input.clear();
      bytes = joined_;
    }
    if (!connection.open) bytes.remove_prefix(take_handshake(connection, bytes));
    while (connection.open) {
      const wire::DecodedHeader head = wire::decode_frame_header(as_bytes(bytes));
      if (head.status == wire::FrameStatus::malformed) fail_with("a frame is malformed");
      const std::size_t size = head.header.header_bytes + head.header.payload_bytes;
      if (head.status == wire::FrameStatus::need_more || bytes.size() < size) break;
      on_frame(connection, head.header,
               bytes.substr(head.header.header_bytes, head.header.payload_bytes));
      bytes.remove_prefix(size);
    }
    connection.input.assign(bytes);
  }

  std::size_t take_handshake(Connection& connection, std::string_view bytes) {
    const auto upgrade = wire::check_upgrade_response(as_bytes(bytes), kKey, options_.protocol);
    if (!upgrade) {
      if (upgrade.error().code == Errc::truncated) return 0;
      fail_with(upgrade.error().detail);
    }
    connection.open = true;
    ++open_;
    return upgrade->head_bytes;
  }

  void on_frame(Connection& connection, const wire::FrameHeader& head, std::string_view payload) {
    if (head.opcode == wire::Opcode::close) fail_with("the server closed a WebSocket");
    if (head.opcode == wire::Opcode::ping) return answer(connection, payload);
    if (head.opcode != wire::Opcode::text) return;
    if (!std::exchange(connection.answered, true)) ++answered_;
    frames_ += measuring_ ? 1 : 0;
    if (options_.period_ms > 0) on_chunk(connection, payload);
  }

  static void answer(const Connection& connection, std::string_view ping) {
    std::string pong;
    wire::append_masked_frame(pong, wire::Opcode::pong, wire::Fin::yes, ping, {});
    (void)io::send(connection.socket, pong);
  }

  void on_chunk(Connection& connection, std::string_view text) {
    const std::int64_t seq = number_behind(text, "\"seq\":");
    const std::int64_t n = number_behind(text, "\"n\":");
    if (text.contains("\"ERROR\"")) fail_with(text);
    if (seq < 0 || n < 0) return;
    const double now = to_ms(io::now().time_since_epoch());
    const auto lateness_of = [&](std::int64_t token) {
      return now - static_cast<double>(token) * options_.period_ms;
    };
    connection.most_punctual = std::min(connection.most_punctual, lateness_of(seq + n - 1));
    if (!measuring_) return;
    tokens_ += static_cast<std::uint64_t>(n);
    for (std::int64_t token = seq; token < seq + n; ++token) {
      const double late = std::max(0.0, lateness_of(token) - connection.most_punctual);
      ++late_[std::min(static_cast<std::size_t>(late), kLatenessMax - 1)];
    }
  }

  std::size_t lateness(double share) const {
    auto left = static_cast<std::int64_t>(share * static_cast<double>(tokens_));
    std::size_t ms = 0;
    while (ms + 1 < kLatenessMax && (left -= static_cast<std::int64_t>(late_[ms])) > 0) ++ms;
    return ms;
  }

  void report(double seconds, double cpu, double own) const {
    const auto each_million = [](double value, std::uint64_t count) {
      return count == 0 ? 0 : value * 1e6 / static_cast<double>(count);
    };
    fmt::print(R"({{"connections":{},"seconds":{:.3f},"frames":{},"bytes":{},"cpu_s":{:.2f},)"
               R"("client_cpu_s":{:.2f},"cpu_s_per_million_frames":{:.2f})",
               connections_.size(), seconds, frames_, bytes_, cpu, own, each_million(cpu, frames_));
    if (options_.period_ms > 0) {
      fmt::print(R"(,"tokens":{},"tokens_due":{:.0f},"cpu_s_per_million_tokens":{:.2f},)"
                 R"("late_ms":{{"p50":{},"p99":{},"p999":{}}})",
                 tokens_,
                 static_cast<double>(connections_.size()) * seconds * 1000 / options_.period_ms,
                 each_million(cpu, tokens_), lateness(0.5), lateness(0.99), lateness(0.999));
    }
    fmt::print("}}\n");
  }

  const Options options_;
  std::vector<Connection> connections_;
  std::vector<char> buffer_;
  std::optional<io::Poller> poller_;
  std::string request_;
  std::string ask_;
  std::string joined_;
  std::size_t begun_ = 0;
  std::size_t open_ = 0;
  std::size_t answered_ = 0;
  bool measuring_ = false;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t tokens_ = 0;
  std::vector<std::uint64_t> late_ = std::vector<std::uint64_t>(kLatenessMax);
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Holds many WebSockets open and counts what comes"};
  app.add_option("--port", options.port)->required();
  app.add_option("--connections", options.connections);
  app.add_option("--target", options.target);
  app.add_option("--protocol", options.protocol);
  app.add_option("--message", options.message);
  app.add_option("--warmup", options.warmup);
  app.add_option("--seconds", options.seconds);
  app.add_option("--period-ms", options.period_ms);
  app.add_flag("--silent", options.silent);
  app.add_option("--pid", options.pid);
  CLI11_PARSE(app, argc, argv);
  io::raise_descriptor_limit();
  Client{options}.run();
  return 0;
}
