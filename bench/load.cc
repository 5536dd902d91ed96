// Drives N concurrent streams in a closed loop from one thread and reports what a client sees:
// `seedance_bench_load --api sse|native --port P --streams N`. One line of JSON on stdout.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "protocol.h"
#include "report.h"

namespace seedance::bench {
namespace {

constexpr std::chrono::seconds kStallMax{60};
constexpr std::size_t kReadBytes = 65536;

struct Options {
  Target target;
  std::string api = "sse";
  std::uint64_t streams = 1;
  std::uint64_t requests = 0;
  int prompt_tokens = 32;
  int max_tokens = 64;
  int token_first = 300;
  int token_end = 4096;
  std::uint64_t seed = 1;
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Error system_error(std::string_view what) {
  return {Errc::disconnected, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<Socket> connect_to(const Target& target) {
  Socket socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(target.port));
  if (inet_pton(AF_INET, target.host.c_str(), &address.sin_addr) != 1) {
    return fail(Errc::invalid, "--host must be an IPv4 address");
  }
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return std::unexpected(system_error("connect"));
  }
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// One closed loop: a connection and the request that it carries now.
struct Stream {
  Socket socket;
  std::unique_ptr<Protocol> protocol;
  bool asking = false;
  std::uint64_t round = 0;  // Requests that it has finished.
  std::uint64_t tokens = 0;
  Time issued;
  Time first;
  Time last;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        random_(options.seed),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        report_(options.streams, options.requests),
        streams_(options.streams) {}

  Result<void> run();
  const Report& report() const { return report_; }

 private:
  Result<void> open(Stream& stream);
  Result<void> ask(Stream& stream);
  Result<void> flush(Stream& stream);
  Result<void> on_readable(Stream& stream);
  Result<void> on_event(Stream& stream, const Event& event, Time now);
  Result<void> next_request(Stream& stream);
  Result<void> recover(Stream& stream, const Error& error);
  Ask make_ask();

  const Options& options_;
  Prng random_;
  Socket epoll_;
  Report report_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::array<char, kReadBytes> buffer_;
};

Ask Load::make_ask() {
  Ask ask{.prompt = {}, .max_tokens = options_.max_tokens};
  const auto range = static_cast<std::uint64_t>(options_.token_end - options_.token_first);
  for (int i = 0; i < options_.prompt_tokens; ++i) {
    ask.prompt.push_back(options_.token_first + static_cast<int>(random_.below(range)));
  }
  return ask;
}

Result<void> Load::open(Stream& stream) {
  auto socket = connect_to(options_.target);
  if (!socket) return std::unexpected(socket.error());
  stream.socket = std::move(*socket);
  stream.protocol =
      options_.api == "sse" ? make_sse(options_.target) : make_native(options_.target);
  epoll_event interest{.events = EPOLLIN, .data = {.ptr = &stream}};
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, stream.socket.fd(), &interest) != 0) {
    return std::unexpected(system_error("epoll_ctl"));
  }
  return flush(stream);
}

// A request fits into an idle connection's send buffer; anything else is reported, not awaited.
Result<void> Load::flush(Stream& stream) {
  std::string& output = stream.protocol->output();
  if (output.empty()) return {};
  const ssize_t sent =
      ::send(stream.socket.fd(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return std::unexpected(system_error("send"));
  if (static_cast<std::size_t>(sent) < output.size()) return fail(Errc::overloaded, "send buffer");
  output.clear();
  return {};
}

Result<void> Load::ask(Stream& stream) {
  stream.protocol->ask(make_ask());
  stream.asking = true;
  stream.tokens = 0;
  stream.issued = Clock::now();
  report_.on_issued(stream.issued);
  return flush(stream);
}

Result<void> Load::next_request(Stream& stream) {
  if (stream.asking || !report_.wants_request()) return {};
  if (!stream.protocol->reusable()) {
    if (auto opened = open(stream); !opened) return opened;
  }
  if (!stream.protocol->ready()) return {};
  return ask(stream);
}

Result<void> Load::on_event(Stream& stream, const Event& event, Time now) {
  if (const auto* tokens = std::get_if<Tokens>(&event)) {
    if (stream.tokens == 0) {
      stream.first = now;
      report_.on_first_tokens(tokens->count, stream.round, stream.issued, now);
    } else {
      report_.on_tokens(tokens->count, stream.last, now);
    }
    stream.tokens += tokens->count;
    stream.last = now;
    return {};
  }
  if (const auto* failed = std::get_if<Failed>(&event)) return fail(Errc::invalid, failed->why);
  if (!stream.asking) return {};
  stream.asking = false;
  report_.on_finished(std::get<Finished>(event), stream.tokens, stream.issued, stream.first, now);
  ++stream.round;
  return {};
}

Result<void> Load::on_readable(Stream& stream) {
  const ssize_t count = ::recv(stream.socket.fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  const Time now = Clock::now();
  if (count < 0 && errno == EAGAIN) return {};
  if (count < 0) return std::unexpected(system_error("recv"));
  if (count == 0) return fail(Errc::disconnected, "the server closed the connection");
  events_.clear();
  stream.protocol->on_input({buffer_.data(), static_cast<std::size_t>(count)}, events_);
  for (const Event& event : events_) {
    if (auto done = on_event(stream, event, now); !done) return done;
  }
  if (auto sent = flush(stream); !sent) return sent;
  return next_request(stream);
}

// Counts the request as failed and goes on over a new connection.
Result<void> Load::recover(Stream& stream, const Error& error) {
  if (!stream.protocol->ready()) return std::unexpected(error);
  if (stream.asking) report_.on_failed(error.detail);
  stream.asking = false;
  stream.socket = Socket{};
  if (!report_.wants_request()) return {};
  if (auto opened = open(stream); !opened) return opened;
  return next_request(stream);
}

Result<void> Load::run() {
  for (Stream& stream : streams_) {
    if (auto opened = open(stream); !opened) return opened;
  }
  for (Stream& stream : streams_) {
    if (auto asked = next_request(stream); !asked) return asked;
  }
  std::array<epoll_event, 128> ready;
  const auto stall_ms = static_cast<int>(std::chrono::milliseconds{kStallMax}.count());
  while (!report_.over()) {
    const int count = epoll_wait(epoll_.fd(), ready.data(), ready.size(), stall_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return fail(Errc::disconnected, "nothing came for a minute");
    for (int i = 0; i < count; ++i) {
      auto& stream = *static_cast<Stream*>(ready[static_cast<std::size_t>(i)].data.ptr);
      auto handled = on_readable(stream);
      if (!handled) handled = recover(stream, handled.error());
      if (!handled) return handled;
    }
  }
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{"Drives concurrent token streams and reports what a client sees, as JSON."};
  app.add_option("--api", options.api, "sse: POST /v1/completions; native: /ws/inference")
      ->check(CLI::IsMember({"sse", "native"}));
  app.add_option("--host", options.target.host);
  app.add_option("--port", options.target.port);
  app.add_option("--model", options.target.model, "Name in the requests; none if empty");
  app.add_option("--extra", options.target.extra,
                 "JSON members for every request: \"a\":1,\"b\":2");
  app.add_option("--streams", options.streams)->check(CLI::PositiveNumber);
  app.add_option("--requests", options.requests, "In all; 8 for each stream if not given");
  app.add_option("--prompt-tokens", options.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--max-tokens", options.max_tokens)->check(CLI::PositiveNumber);
  app.add_option("--token-first", options.token_first, "Prompts are made of ids from this one");
  app.add_option("--token-end", options.token_end, "and below this one");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  if (options.requests == 0) options.requests = 8 * options.streams;
  if (options.requests < 3 * options.streams || options.token_end <= options.token_first) {
    fmt::print(stderr, "--requests must be 3 a stream or more, --token-end above --token-first\n");
    return 2;
  }

  Load load{options};
  const auto done = load.run();
  if (!done) {
    fmt::print(stderr, "seedance_bench_load: {}\n", done.error().detail);
    return 1;
  }
  fmt::print("{}\n", load.report().json());
  return 0;
}

}  // namespace
}  // namespace seedance::bench

int main(int argc, char** argv) {
  return seedance::bench::run(argc, argv);
}
