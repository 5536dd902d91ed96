#include "server/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace seedance::server {
namespace {

constexpr TimePoint kNow{std::chrono::seconds{100}};
constexpr std::size_t kFrameBytes = 1000;
constexpr std::uint64_t kEndless = 1'000'000'000;

// What became of a session, which its connection destroys.
struct Trace {
  stream::Cursor cursor;  // Of a log whose tokens are frames: "000000007....".
  std::uint64_t log_end = 0;
  std::size_t rendered = 0;
  std::size_t taken_back = 0;
  std::string input;
  std::string answer;  // To be sent before frames.
  bool wants_input = true;
  bool rests = false;
  bool turn_rests = false;
  int gone_on = 0;
  bool ended = false;
  bool blocked = false;
  int gone = 0;
  std::optional<Session::Farewell> farewell;
  Session::Ending ending = Session::Ending::open;
  const io::Fd* peer = nullptr;  // Reads at once what is sent, when there is one.
};

std::string frame_of(std::uint64_t number) {
  std::string text = std::to_string(number);
  text.insert(0, 9 - text.size(), '0');
  return text + std::string(kFrameBytes - text.size(), '.');
}

class FrameSession final : public Session {
 public:
  explicit FrameSession(Trace& trace) : trace_(trace) {}

  void on_input(std::span<std::byte> bytes, TimePoint) override { trace_.input += as_text(bytes); }
  bool wants_input() const override { return trace_.wants_input; }
  bool rests() const override { return trace_.rests; }
  bool end_turn() override { return trace_.turn_rests; }
  void go_on(TimePoint) override { ++trace_.gone_on; }
  void on_end(TimePoint) override { trace_.ended = true; }
  void on_reply(std::uint64_t, ReplyBody&, TimePoint) override {}
  void on_time(TimePoint) override {}
  TimePoint deadline() const override { return kNever; }
  void on_blocked(TimePoint) override { trace_.blocked = true; }
  void on_unblocked(TimePoint) override { trace_.blocked = false; }
  void on_drain(TimePoint) override {}
  void on_farewell(Farewell why, TimePoint) override { trace_.farewell = why; }
  void render(Rendering& out, std::size_t bytes_max, TimePoint) override {
    out.bytes += std::exchange(trace_.answer, {});
    out.fixed = out.bytes.size();
    while (out.bytes.size() < bytes_max && trace_.cursor.next.value < trace_.log_end) {
      const std::size_t begin = out.bytes.size();
      const stream::Cursor before = trace_.cursor;
      out.bytes += frame_of(trace_.cursor.next.value);
      trace_.cursor.next = trace_.cursor.next + 1;
      ++trace_.rendered;
      out.frames.push_back({begin, out.bytes.size(), 1, before});
    }
  }
  void take_back(const Rendering::Frame& frame) override {
    trace_.cursor = frame.before;
    ++trace_.taken_back;
  }
  void on_sent(TimePoint) override {
    std::array<std::byte, 65536> buffer;
    while (trace_.peer != nullptr && io::receive(*trace_.peer, buffer).bytes > 0) {
    }
  }
  Ending ending() const override { return trace_.ending; }
  void on_gone() override { ++trace_.gone; }
  Upgrade take_upgrade() override { return {}; }

 private:
  Trace& trace_;
};

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    peer_ = io::Fd{fds[1]};
    connection_ = std::make_unique<Connection>(ConnectionId{1}, io::Fd{fds[0]},
                                               std::make_unique<FrameSession>(trace_),
                                               ConnectionOptions{}, counters_, kNow);
  }

  bool turn() {
    constexpr std::size_t kBytesMax = std::size_t{64} << 10;
    Rendering& out = scratch_.outputs.front();
    connection_->prepare(scratch_, out, kBytesMax, kNow);
    const io::Moved moved = connection_->send(out);
    return connection_->settle(scratch_, out, moved, kBytesMax, kNow);
  }
  void flush() {
    while (turn()) {
    }
  }
  void ready(io::Ready ready) { connection_->on_ready(ready, scratch_, kNow); }

  // What the peer gets when it reads all there is.
  std::string drain() {
    std::string all;
    std::array<std::byte, 65536> buffer;
    for (;;) {
      const io::Moved moved = io::receive(peer_, buffer);
      all += as_text(Bytes{buffer}.first(moved.bytes));
      if (moved.bytes == 0) return all;
    }
  }

  Trace trace_;
  Counters counters_;
  Scratch scratch_;
  io::Fd peer_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, SendsWhatThereIsAndNotMore) {
  trace_.answer = "hello";
  trace_.log_end = 3;
  flush();
  EXPECT_EQ(drain(), "hello" + frame_of(0) + frame_of(1) + frame_of(2));
  flush();
  EXPECT_EQ(drain(), "");
  EXPECT_EQ(counters_.sends.value(), 1U);
}

TEST_F(ConnectionTest, AReaderThatStallsCostsTheRestOfOneFrame) {
  trace_.log_end = kEndless;
  flush();
  ASSERT_TRUE(trace_.blocked);
  // Everything rendered beyond the frame that went in part was taken back.
  const std::string got = drain();
  const std::size_t whole = (got.size() + kFrameBytes - 1) / kFrameBytes;
  EXPECT_EQ(trace_.cursor.next.value, whole);
  EXPECT_EQ(trace_.rendered - trace_.taken_back, whole);
  // Nothing is rendered for it while it is blocked, however often it is woken.
  const std::size_t rendered = trace_.rendered;
  flush();
  EXPECT_EQ(trace_.rendered, rendered);
}

TEST_F(ConnectionTest, AReaderThatComesBackMissesNothing) {
  trace_.log_end = 2000;
  std::string all;
  for (int i = 0; i < 1000 && all.size() < 2000 * kFrameBytes; ++i) {
    flush();
    all += drain();
    ready({.token = {1}, .writable = true});
  }
  std::string expected;
  for (std::uint64_t i = 0; i < 2000; ++i) expected += frame_of(i);
  EXPECT_EQ(all, expected);
  EXPECT_GT(trace_.taken_back, 0U);
}

TEST_F(ConnectionTest, AnAnswerIsKeptWhole) {
  trace_.answer = std::string(1 << 20, 'a');
  trace_.log_end = 1;
  std::string all;
  for (int i = 0; i < 1000 && all.size() < (1 << 20) + kFrameBytes; ++i) {
    flush();
    all += drain();
    ready({.token = {1}, .writable = true});
  }
  EXPECT_EQ(all, std::string(1 << 20, 'a') + frame_of(0));
}

TEST_F(ConnectionTest, AReaderThatNeverReadsIsGivenUp) {
  EXPECT_EQ(connection_->deadline(), kNever);
  trace_.log_end = kEndless;
  flush();
  EXPECT_EQ(connection_->deadline(), kNow + std::chrono::seconds{60});
  connection_->on_time(kNow + std::chrono::seconds{59});
  EXPECT_FALSE(connection_->closed());
  EXPECT_EQ(trace_.farewell, std::nullopt);
  connection_->on_time(kNow + std::chrono::seconds{60});
  EXPECT_TRUE(connection_->closed());
  EXPECT_EQ(trace_.farewell, Session::Farewell::stalled);
  EXPECT_EQ(trace_.gone, 1);
}

// The peer took some bytes, but too few for the poller to speak of it.
TEST_F(ConnectionTest, WhoeverIsGivenUpIsToldSoBehindTheFrameThatWentInPart) {
  trace_.log_end = kEndless;
  flush();
  ASSERT_TRUE(trace_.blocked);
  std::string got = drain();
  trace_.log_end = trace_.cursor.next.value;  // The farewell is all that there is.
  trace_.answer = "farewell";
  connection_->part(Session::Farewell::stalled, kNow);
  EXPECT_TRUE(connection_->closed());
  got += drain();
  std::string expected;
  for (std::uint64_t i = 0; i < trace_.cursor.next.value; ++i) expected += frame_of(i);
  EXPECT_EQ(got, expected + "farewell");
}

TEST_F(ConnectionTest, WhoeverTakesNothingIsClosedAllTheSame) {
  trace_.log_end = kEndless;
  flush();
  trace_.answer = "farewell";
  connection_->part(Session::Farewell::restart, kNow);
  EXPECT_TRUE(connection_->closed());
  EXPECT_EQ(trace_.farewell, Session::Farewell::restart);
}

TEST_F(ConnectionTest, ReadsOnlyWhatTheSessionWants) {
  trace_.wants_input = false;
  EXPECT_EQ(io::send(peer_, "hello").bytes, 5U);
  ready({.token = {1}, .readable = true});
  EXPECT_EQ(trace_.input, "");
  trace_.wants_input = true;
  flush();
  EXPECT_EQ(trace_.input, "hello");
}

TEST_F(ConnectionTest, TellsTheEndAlsoToASessionThatDoesNotRead) {
  trace_.wants_input = false;
  peer_.close();
  ready({.token = {1}, .readable = true, .closed = true});
  EXPECT_TRUE(trace_.ended);
}

TEST_F(ConnectionTest, ReadsEverythingBeforeTheEnd) {
  EXPECT_EQ(io::send(peer_, "last words").bytes, 10U);
  peer_.close();
  ready({.token = {1}, .readable = true, .closed = true});
  EXPECT_EQ(trace_.input, "last words");
  EXPECT_TRUE(trace_.ended);
}

TEST_F(ConnectionTest, ClosesWhenAllIsSentOrAtOnce) {
  trace_.log_end = kEndless;
  flush();
  trace_.ending = Session::Ending::close;
  flush();
  EXPECT_FALSE(connection_->closed());
  trace_.ending = Session::Ending::drop;
  flush();
  EXPECT_TRUE(connection_->closed());
  EXPECT_EQ(trace_.gone, 1);
}

// Whoever sends or takes without end must not keep the others waiting.
TEST_F(ConnectionTest, ReadsNoMoreThanATurnAtOnce) {
  const std::string bytes(4 * Connection::kTurnBytes, 'x');
  const std::size_t sent = io::send(peer_, bytes).bytes;
  ASSERT_GT(sent, Connection::kTurnBytes);
  ready({.token = {1}, .readable = true});
  EXPECT_EQ(trace_.input.size(), Connection::kTurnBytes);
  EXPECT_TRUE(turn());
  EXPECT_EQ(trace_.input.size(), Connection::kTurnBytes);
  flush();
  EXPECT_EQ(trace_.input.size(), sent);
}

TEST_F(ConnectionTest, SendsNoMoreThanATurnAtOnce) {
  trace_.log_end = kEndless;
  trace_.peer = &peer_;
  EXPECT_TRUE(turn());
  EXPECT_GE(trace_.cursor.next.value * kFrameBytes, Connection::kTurnBytes);
  EXPECT_LE(trace_.cursor.next.value * kFrameBytes, 2 * Connection::kTurnBytes);
  trace_.log_end = trace_.cursor.next.value + 1;
  EXPECT_FALSE(turn());
  EXPECT_EQ(trace_.cursor.next.value, trace_.log_end);
}

TEST_F(ConnectionTest, ATurnThatIsOverClosesNothingThatIsNotSent) {
  trace_.log_end = 1000;
  trace_.peer = &peer_;
  trace_.ending = Session::Ending::close;
  EXPECT_TRUE(turn());
  EXPECT_FALSE(connection_->closed());
  flush();
  EXPECT_EQ(trace_.cursor.next.value, trace_.log_end);
  EXPECT_TRUE(connection_->closed());
}

TEST_F(ConnectionTest, HalfClosesAndGoesOnReading) {
  trace_.answer = "refused";
  trace_.ending = Session::Ending::half_close;
  flush();
  EXPECT_EQ(drain(), "refused");
  std::array<std::byte, 1> buffer;
  EXPECT_EQ(io::receive(peer_, buffer).flow, io::Moved::Flow::closed);
  EXPECT_EQ(io::send(peer_, "more").bytes, 4U);
  ready({.token = {1}, .readable = true});
  EXPECT_EQ(trace_.input, "more");
  EXPECT_FALSE(connection_->closed());
}

TEST_F(ConnectionTest, ASessionThatKeptInputGoesOnInTheNextTurn) {
  EXPECT_FALSE(turn());
  trace_.turn_rests = true;
  EXPECT_TRUE(turn());
  EXPECT_EQ(trace_.gone_on, 0);
  trace_.turn_rests = false;
  EXPECT_FALSE(turn());
  EXPECT_EQ(trace_.gone_on, 1);
  EXPECT_FALSE(turn());
  EXPECT_EQ(trace_.gone_on, 1);
}

TEST_F(ConnectionTest, TheEndIsToldBehindInputThatIsStillServed) {
  EXPECT_EQ(io::send(peer_, "last").bytes, 4U);
  io::shutdown_send(peer_);
  trace_.rests = true;
  trace_.wants_input = false;
  ready({.token = {1}, .readable = true, .closed = true});
  turn();
  EXPECT_FALSE(trace_.ended);
  trace_.wants_input = true;
  turn();
  EXPECT_EQ(trace_.input, "last");
  EXPECT_FALSE(trace_.ended);
  trace_.rests = false;
  turn();
  EXPECT_TRUE(trace_.ended);
}

TEST_F(ConnectionTest, NothingIsReadWhenItIsClosed) {
  trace_.wants_input = false;
  ready({.token = {1}, .readable = true});
  connection_->part(Session::Farewell::restart, kNow);
  trace_.wants_input = true;
  EXPECT_FALSE(turn());
  EXPECT_FALSE(trace_.ended);
  EXPECT_EQ(trace_.gone, 1);
}

}  // namespace
}  // namespace seedance::server
