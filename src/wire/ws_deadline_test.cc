// What a WsConnection does when time passes.
#include <gtest/gtest.h>

#include "wire/ws_test.h"

namespace seedance::wire {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(WsDeadline, GivesAnUnfinishedMessageADeadlineThatProgressDoesNotMove) {
  for (const std::string& begin : {frame(Opcode::text, "x", Fin::no), "\x81"s, "\x81\x85"s,
                                   frame(Opcode::text, "12345").substr(0, 8)}) {
    Server server;
    feed(server, begin);
    EXPECT_EQ(server.deadline(), kStart + 15s);  // The heartbeat comes first.
    TimePoint now = kStart;
    for (; now < kStart + 60s; now += 10s) {
      server.on_time(now);
      EXPECT_EQ(drain(server), Events{});
      server.on_blocked();
      server.on_unblocked(now);  // Keeps the heartbeat quiet.
    }
    server.on_time(kStart + 60s);
    EXPECT_EQ(drain(server), Events{"closed 1008 message not finished in time"});
  }
}

TEST(WsDeadline, DropsAPeerThatDoesNotAnswerItsClose) {
  Server server;
  server.close(CloseCode::normal, "", kStart);
  EXPECT_EQ(server.deadline(), kStart + 5s);
  server.on_time(kStart + 4999ms);
  EXPECT_FALSE(server.finished());
  server.on_time(kStart + 5s);
  EXPECT_EQ(drain(server), Events{"closed 1006 no answer to Close"});
  EXPECT_TRUE(server.finished());
  EXPECT_EQ(server.deadline(), kNever);
}

TEST(WsDeadline, LetsARefusedPeerReadWhyAndThenDropsIt) {
  Server server;
  feed(server, plain(Opcode::text, "x"));
  EXPECT_FALSE(server.half_closed());  // The Close is not sent yet.
  EXPECT_EQ(close_in(flush(server)), "1002 wrong masking");
  EXPECT_TRUE(server.half_closed());
  EXPECT_EQ(feed(server, frame(Opcode::text, "dropped")), Events{});
  EXPECT_FALSE(server.finished());
  server.on_time(kStart + 5s);
  EXPECT_TRUE(server.finished());
  EXPECT_EQ(drain(server), Events{});  // WsClosed came once.
}

TEST(WsDeadline, PingsASilentPeerAndThenDropsIt) {
  Server server;
  EXPECT_EQ(server.deadline(), kStart + 15s);
  server.on_time(kStart + 15s - 1ns);
  EXPECT_EQ(server.output(), "");
  server.on_time(kStart + 15s);
  EXPECT_EQ(flush(server), plain(Opcode::ping, ""));
  server.on_time(kStart + 16s);
  EXPECT_EQ(server.output(), "");
  EXPECT_EQ(server.deadline(), kStart + 30s);
  // Anything received is a sign of life, not only a Pong.
  feed(server, "\x81"s, kStart + 29s);
  EXPECT_EQ(server.deadline(), kStart + 44s);
  server.on_time(kStart + 44s);
  EXPECT_EQ(flush(server), plain(Opcode::ping, ""));
  server.on_time(kStart + 59s);
  EXPECT_EQ(drain(server), Events{"closed 1006 no answer to Ping"});
  EXPECT_TRUE(server.finished());
}

TEST(WsDeadline, LeavesItToItsOwnerHowLongOutputIsBlocked) {
  Server server;
  server.on_blocked();
  server.on_blocked();  // Still the same stall.
  EXPECT_EQ(server.deadline(), kNever);
  server.on_time(kStart + 24h);
  EXPECT_EQ(drain(server), Events{});
  EXPECT_EQ(server.output(), "");
  server.on_unblocked(kStart + 24h);
  EXPECT_EQ(server.deadline(), kStart + 24h + 15s);
  server.on_time(kStart + 24h + 30s);
  EXPECT_EQ(drain(server), Events{"closed 1006 no answer to Ping"});
}

}  // namespace
}  // namespace seedance::wire
