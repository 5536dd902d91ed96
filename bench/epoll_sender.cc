// The least that a server can do: each WebSocket that said something gets one frame each period,
// by a loop of epoll and send() and nothing else.
//
//   seedance_bench_epoll PORT BYTES PERIOD_MS
//
// The yardstick for the cost of a frame; checks nothing that a client sends.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"
#include "wire/ws_frame.h"
#include "wire/ws_handshake.h"

namespace {

using namespace seedance;

struct Peer {
  std::string head;
  bool open = false;
  bool asked = false;
};

int listen_on(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return -1;
  return listen(listener, 4096) == 0 ? listener : -1;
}

int timer_of(int period_ms) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  const timespec period{period_ms / 1000, static_cast<long>(period_ms % 1000) * 1'000'000};
  const itimerspec each{period, period};
  timerfd_settime(timer, 0, &each, nullptr);
  return timer;
}

void watch(int poller, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

class Sender {
 public:
  Sender(int listener, std::size_t bytes, int period_ms)
      : poller_(epoll_create1(EPOLL_CLOEXEC)), listener_(listener), timer_(timer_of(period_ms)) {
    wire::append_frame_header(frame_, wire::Opcode::text, wire::Fin::yes, bytes);
    frame_ += std::string(bytes, 'x');
    watch(poller_, listener_);
    watch(poller_, timer_);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 1024> events;
    for (;;) {
      const int count = epoll_wait(poller_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events.at(static_cast<std::size_t>(i)).data.fd;
        if (fd == listener_) {
          accept();
        } else if (fd == timer_) {
          send_all();
        } else {
          read(fd);
        }
      }
    }
  }

 private:
  void accept() {
    for (int fd = 0;
         (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      if (peers_.size() <= static_cast<std::size_t>(fd))
        peers_.resize(static_cast<std::size_t>(fd) + 1);
      peers_[static_cast<std::size_t>(fd)] = {};
      watch(poller_, fd);
    }
  }

  void read(int fd) {
    std::array<char, 4096> buffer;
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
    Peer& peer = peers_[static_cast<std::size_t>(fd)];
    if (count <= 0) {
      peer = {};
      ::close(fd);
      return;
    }
    if (peer.open) {
      if (!peer.asked) asked_.push_back(fd);
      peer.asked = true;
      return;
    }
    peer.head.append(buffer.data(), static_cast<std::size_t>(count));
    if (peer.head.contains("\r\n\r\n")) shake_hands(fd, peer);
  }

  static void shake_hands(int fd, Peer& peer) {
    constexpr std::string_view kName = "Sec-WebSocket-Key: ";
    const std::size_t at = peer.head.find(kName) + kName.size();
    const std::string key = peer.head.substr(at, peer.head.find('\r', at) - at);
    const std::string answer = fmt::format(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: bench\r\n\r\n",
        wire::accept_key(key));
    (void)::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    peer = {.open = true};
  }

  // A peer that is behind misses frames, as none of the others' would.
  void send_all() {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof(times)) != sizeof(times)) return;
    for (; times > 0; --times) {
      for (const int fd : asked_) {
        (void)::send(fd, frame_.data(), frame_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
  }

  const int poller_;
  const int listener_;
  const int timer_;
  std::string frame_;
  std::vector<Peer> peers_;  // By descriptor.
  std::vector<int> asked_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  io::raise_descriptor_limit();
  const int listener = listen_on(static_cast<std::uint16_t>(std::stoi(argv[1])));
  if (listener < 0) return 1;
  Sender{listener, std::stoul(argv[2]), std::stoi(argv[3])}.run();
}
