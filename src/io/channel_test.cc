#include "io/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "io/poller.h"
#include "io/test_tls.h"

namespace seedance::io {
namespace {

std::pair<Fd, Fd> connected() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  EXPECT_EQ(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
  return {Fd{fds[0]}, Fd{fds[1]}};
}

// The other end, which blocks.
struct Peer {
  Fd socket;
  std::optional<TestTls> tls;

  void say(std::string_view text) {
    if (tls) {
      EXPECT_TRUE(tls->send(text));
    } else {
      EXPECT_EQ(::send(socket.get(), text.data(), text.size(), 0),
                static_cast<ssize_t>(text.size()));
    }
  }

  // So many bytes, or what comes before the end.
  std::string hear(std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) {
      const std::string more = tls ? tls->read() : read_plain();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

  std::string read_plain() {
    std::string out(16384, '\0');
    const ssize_t got = recv(socket.get(), out.data(), out.size(), 0);
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
  }
};

// A channel, in the clear or not, and a thread for its peer.
class ChannelTest : public testing::TestWithParam<bool> {
 protected:
  ChannelTest() {
    if (GetParam()) {
      const auto files = authority_.issue("server");
      auto context =
          TlsContext::open({.certificate_file = files.certificate, .key_file = files.key});
      EXPECT_TRUE(context) << context.error().detail;
      context_.emplace(std::move(*context));
    }
    auto [ours, theirs] = connected();
    peer_.socket = std::move(theirs);
    channel_ = std::make_unique<Channel>(std::move(ours), context_ ? &*context_ : nullptr);
    auto poller = Poller::open();
    EXPECT_TRUE(poller);
    poller_.emplace(std::move(*poller));
    EXPECT_TRUE(poller_->add(channel_->fd(), {1}));
  }

  // What the peer does, when it can talk.
  template <typename Act>
  std::jthread peer(Act act) {
    return std::jthread{[this, act] {
      if (GetParam()) {
        peer_.tls.emplace(peer_.socket, TestTls::Options{.trusts = &authority_});
        EXPECT_TRUE(peer_.tls->connect());
      }
      act(peer_);
    }};
  }

  std::string receive(std::size_t bytes) {
    std::string all;
    std::array<std::byte, 1000> buffer;
    bool hung_up = false;  // Then a short read is not the last.
    for (;;) {
      const Moved moved = channel_->receive(buffer);
      all += as_text(Bytes{buffer}.first(moved.bytes));
      if (all.size() >= bytes || moved.flow == Moved::Flow::closed) return all;
      if (moved.flow == Moved::Flow::blocked && !hung_up) {
        for (const Ready& ready : poller_->wait(kNever)) hung_up = hung_up || ready.closed;
      }
    }
  }

  void send(std::string_view bytes) {
    for (;;) {
      const Moved moved = channel_->send(bytes);
      ASSERT_NE(moved.flow, Moved::Flow::closed);
      bytes.remove_prefix(moved.bytes);
      if (moved.flow == Moved::Flow::open) return;
      do poller_->wait(kNever);
      while (!channel_->flush());
    }
  }

  TestAuthority authority_;
  std::optional<TlsContext> context_;
  std::unique_ptr<Channel> channel_;
  std::optional<Poller> poller_;
  Peer peer_;
};

TEST_P(ChannelTest, BothEndsTalk) {
  const auto thread = peer([](Peer& peer) {
    peer.say("hello");
    EXPECT_EQ(peer.hear(2), "hi");
  });
  EXPECT_EQ(receive(5), "hello");
  EXPECT_TRUE(channel_->established());
  send("hi");
}

// More than any buffer holds, in both directions.
TEST_P(ChannelTest, NothingIsLostThatASocketTakesInParts) {
  const std::string much(3'000'000, 'x');
  const auto thread = peer([&](Peer& peer) {
    peer.say("go" + much);
    EXPECT_EQ(peer.hear(much.size()), much);
  });
  EXPECT_EQ(receive(2 + much.size()), "go" + much);
  send(much);
}

TEST_P(ChannelTest, TellsTheEnd) {
  const auto thread = peer([](Peer& peer) {
    peer.say("a");
    EXPECT_EQ(peer.hear(10), "b");
    EXPECT_TRUE(!peer.tls || peer.tls->was_told_the_end());
  });
  EXPECT_EQ(receive(1), "a");
  send("b");
  channel_->close();
}

TEST_P(ChannelTest, HearsTheEnd) {
  const auto thread = peer([](Peer& peer) {
    peer.say("a");
    peer.socket.close();
  });
  EXPECT_EQ(receive(1000), "a");
}

TEST_P(ChannelTest, TakesTheLastWordsForAPeerThatIsBehind) {
  std::size_t sent = 0;
  {
    const auto thread = peer([](Peer& peer) { peer.say("a"); });
    EXPECT_EQ(receive(1), "a");
  }
  const std::string piece(4096, 'x');
  for (Moved moved; moved.flow == Moved::Flow::open; sent += moved.bytes) {
    moved = channel_->send(piece);
  }
  const Moved last = channel_->send_last("bye");
  EXPECT_EQ(last.bytes, 3U);
  EXPECT_TRUE(channel_->flush());
  channel_->close();
  EXPECT_TRUE(peer_.hear(sent + 3).ends_with("xbye"));
}

INSTANTIATE_TEST_SUITE_P(Both, ChannelTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

}  // namespace
}  // namespace seedance::io
