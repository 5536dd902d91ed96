#include "wire/ws_connection.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "wire/ws_test.h"

namespace {
std::int64_t live_allocations = 0;
}  // namespace

// Counts what the whole test binary holds.
void* operator new(std::size_t size) {
  ++live_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) --live_allocations;
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace seedance::wire {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// What one connection makes of `bytes`: its events and what it answers.
struct Outcome {
  Events events;
  std::string output;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome(std::string_view bytes, const WsLimits& limits = Server::default_limits()) {
  Server server{limits};
  Outcome result{feed(server, std::string{bytes}), {}};
  result.output = flush(server);
  return result;
}

void expect_refused(std::string_view bytes, std::uint16_t code,
                    const WsLimits& limits = Server::default_limits()) {
  const Outcome result = outcome(bytes, limits);
  ASSERT_FALSE(result.events.empty());
  EXPECT_TRUE(result.events.back().starts_with("closed " + std::to_string(code)))
      << result.events.back();
  EXPECT_TRUE(close_in(result.output).starts_with(std::to_string(code))) << result.output;
}

TEST(WsConnection, DeliversMessagesOfBothKinds) {
  EXPECT_EQ(outcome(frame(Opcode::text, "hällo") + frame(Opcode::binary, "\xFF\x00"s) +
                    frame(Opcode::text, ""))
                .events,
            (Events{"text hällo", "binary \xFF\x00"s, "text "}));
}

TEST(WsConnection, DeliversAWholeFrameInPlace) {
  Server server;
  std::string bytes = frame(Opcode::text, "in place");
  server.on_input(std::as_writable_bytes(std::span{bytes}), kStart);
  const auto event = server.next();
  ASSERT_TRUE(event);
  const Bytes payload = std::get<WsMessage>(*event).payload;
  EXPECT_EQ(as_text(payload).data(), bytes.data() + 6);
  EXPECT_FALSE(server.next());
}

TEST(WsConnection, JoinsFragmentsWithControlFramesBetween) {
  const std::string bytes = frame(Opcode::text, "one ", Fin::no) + frame(Opcode::ping, "p") +
                            frame(Opcode::continuation, "", Fin::no) + frame(Opcode::pong, "") +
                            frame(Opcode::continuation, "two");
  EXPECT_EQ(outcome(bytes), (Outcome{{"text one two"}, plain(Opcode::pong, "p")}));
}

TEST(WsConnection, GivesTheSameEventsHoweverTheBytesAreCut) {
  const std::string bytes = frame(Opcode::text, "grüße ✓ 🙂") + frame(Opcode::ping, "abc") +
                            frame(Opcode::text, "fr\xC3", Fin::no) + frame(Opcode::ping, "def") +
                            frame(Opcode::continuation, "\xA4g", Fin::no) +
                            frame(Opcode::continuation, "ment") +
                            frame(Opcode::binary, std::string(130, 'b')) + frame(Opcode::text, "") +
                            frame(Opcode::close, close_payload(1000, "bye"));
  const Outcome expected = outcome(bytes);
  ASSERT_EQ(expected.events.size(), 5U);
  ASSERT_EQ(expected.output, plain(Opcode::pong, "abc") + plain(Opcode::pong, "def") +
                                 plain(Opcode::close, close_payload(1000)));
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); second += 5) {
      Server server;
      Events events = feed(server, bytes.substr(0, first));
      for (const auto& piece : {bytes.substr(first, second - first), bytes.substr(second)}) {
        for (auto& event : feed(server, piece)) events.push_back(std::move(event));
      }
      ASSERT_EQ((Outcome{events, flush(server)}), expected) << first << " " << second;
    }
  }
  Server server;
  Events events;
  for (const char byte : bytes) {
    for (auto& event : feed(server, std::string{byte})) events.push_back(std::move(event));
  }
  EXPECT_EQ((Outcome{events, flush(server)}), expected);
}

TEST(WsConnection, RefusesTheSameHoweverTheBytesAreCut) {
  WsLimits limits;
  limits.message_bytes_max = 20;
  limits.fragments_max = 3;
  const std::string before = frame(Opcode::text, "ok");
  for (const std::string& bad :
       {plain(Opcode::text, "x"), "\xC1\x80"s, "\x83\x80"s, frame(Opcode::continuation, "x"),
        frame(Opcode::text, "x", Fin::no) + frame(Opcode::text, "y"),
        frame(Opcode::text, std::string(21, 'x')), frame(Opcode::text, "a\xFFz"),
        frame(Opcode::text, "\xC3", Fin::no) + frame(Opcode::continuation, "x"),
        frame(Opcode::close, "x"), frame(Opcode::close, close_payload(1005)),
        frame(Opcode::close, close_payload(1000, "\xC3"))}) {
    const std::string bytes = before + bad + frame(Opcode::text, "never");
    const Outcome expected = outcome(bytes, limits);
    ASSERT_EQ(expected.events.size(), 2U);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      Server server{limits};
      Events events = feed(server, bytes.substr(0, cut));
      for (auto& event : feed(server, bytes.substr(cut))) events.push_back(std::move(event));
      ASSERT_EQ((Outcome{events, flush(server)}), expected) << cut;
    }
  }
}

// RFC 6455 section 5.1.
TEST(WsConnection, WantsMasksFromClientsAndNoneFromServers) {
  expect_refused(plain(Opcode::text, "x"), 1002);
  WsConnection client{Server::default_limits(), WsRole::client, kStart};
  EXPECT_EQ(feed(client, plain(Opcode::text, "hi")), Events{"text hi"});
  EXPECT_EQ(feed(client, frame(Opcode::text, "x")), Events{"closed 1002 wrong masking"});
}

TEST(WsConnection, RefusesWhatTheFrameDecoderRefuses) {
  expect_refused("\xC1\x80"s, 1002);                    // RSV1 without an extension.
  expect_refused("\x8B\x80"s, 1002);                    // A reserved opcode.
  expect_refused("\x09\x80"s, 1002);                    // A fragmented Ping.
  expect_refused("\x89\xFE\x00\x7E"s, 1002);            // A Ping of 126 bytes.
  expect_refused("\x82\xFF\x80\0\0\0\0\0\0\0"s, 1002);  // A length with its top bit.
}

TEST(WsConnection, RefusesAStrayContinuationAndAMessageInAMessage) {
  expect_refused(frame(Opcode::continuation, "x"), 1002);
  expect_refused(frame(Opcode::text, "x", Fin::no) + frame(Opcode::binary, "y"), 1002);
  expect_refused(frame(Opcode::text, "x") + frame(Opcode::continuation, "y"), 1002);
}

TEST(WsConnection, RefusesAMessageOverTheLimitAtItsHeader) {
  WsLimits limits;
  limits.message_bytes_max = 100;
  EXPECT_EQ(outcome(frame(Opcode::binary, std::string(100, 'x')), limits).events.size(), 1U);
  EXPECT_EQ(outcome(frame(Opcode::binary, std::string(100, 'x')), limits).output, "");
  // Only the header is there: nothing has been allocated for 2^62 bytes.
  expect_refused("\x82\xFF\x40\0\0\0\0\0\0\0abcd"s, 1009, limits);
  // The sum of fragments counts, and cannot overflow.
  const std::string begin = frame(Opcode::binary, std::string(60, 'x'), Fin::no);
  expect_refused(begin + frame(Opcode::continuation, std::string(41, 'x')), 1009, limits);
  expect_refused(begin +
                     "\x80\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                     "abcd"s,
                 1009, limits);
}

// As an owner does that reads its settings again.
TEST(WsConnection, RefusesAMessageThatALoweredLimitCatchesInTheMiddle) {
  for (const std::string& more : {frame(Opcode::continuation, "x"),
                                  "\x80\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                                  "abcd"s}) {
    WsLimits limits;
    Server server{limits};
    EXPECT_EQ(feed(server, frame(Opcode::binary, std::string(60, 'x'), Fin::no)), Events{});
    limits.message_bytes_max = 50;
    EXPECT_EQ(feed(server, more), Events{"closed 1009 message too big"});
  }
}

TEST(WsConnection, CapsFragmentsEvenEmptyOnes) {
  WsLimits limits;
  limits.fragments_max = 4;
  std::string bytes = frame(Opcode::text, "", Fin::no);
  for (int i = 0; i < 2; ++i) bytes += frame(Opcode::continuation, "", Fin::no);
  EXPECT_EQ(outcome(bytes + frame(Opcode::continuation, ""), limits).events, Events{"text "});
  bytes += frame(Opcode::continuation, "", Fin::no);
  EXPECT_EQ(outcome(bytes, limits).events, Events{});
  expect_refused(bytes + frame(Opcode::continuation, ""), 1008, limits);
}

TEST(WsConnection, FailsFastOnTextThatIsNotUtf8) {
  // In a whole frame, in a part of a frame, and over fragments.
  expect_refused(frame(Opcode::text, "a\xC0\xAF"), 1007);
  expect_refused(frame(Opcode::text, "a\xED\xA0\x80 and more").substr(0, 10), 1007);
  expect_refused(
      frame(Opcode::text, "\xF4", Fin::no) + frame(Opcode::continuation, "\x90", Fin::no), 1007);
  expect_refused(frame(Opcode::text, "cut \xE2\x82"), 1007);
  expect_refused(frame(Opcode::text, "cut \xE2", Fin::no) + frame(Opcode::continuation, "\x82"),
                 1007);
  EXPECT_EQ(
      outcome(frame(Opcode::text, "\xE2", Fin::no) + frame(Opcode::continuation, "\x82", Fin::no) +
              frame(Opcode::continuation, "\xAC"))
          .events,
      Events{"text €"});
}

TEST(WsConnection, AnswersEveryPingWhileThatIsLittle) {
  Server server;
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    feed(server, frame(Opcode::ping, "ping " + std::to_string(i)));
    expected += plain(Opcode::pong, "ping " + std::to_string(i));
  }
  EXPECT_EQ(flush(server), expected);
}

// RFC 6455 section 5.5.3 allows it.
TEST(WsConnection, AnswersTheLatestOfTooManyPings) {
  WsLimits limits;
  limits.controls_max = 1000;
  Server server{limits};
  for (int i = 0; i < 300; ++i) feed(server, frame(Opcode::ping, std::to_string(i)));
  const std::string pongs = flush(server);
  EXPECT_LE(pongs.size(), 256U);
  EXPECT_TRUE(pongs.starts_with(plain(Opcode::pong, "0") + plain(Opcode::pong, "1")));
  EXPECT_TRUE(pongs.ends_with(plain(Opcode::pong, "299")));
  feed(server, frame(Opcode::ping, std::string(125, 'p')));
  EXPECT_EQ(flush(server), plain(Opcode::pong, std::string(125, 'p')));
}

TEST(WsConnection, NeverCutsAPongThatIsPartlySent) {
  Server server;
  const auto ping = [](char mark) { return frame(Opcode::ping, std::string(125, mark)); };
  const auto pong = [](char mark) { return plain(Opcode::pong, std::string(125, mark)); };
  feed(server, ping('1') + ping('2'));
  const std::string sent{server.output().substr(0, 130)};
  server.output_sent(130);  // Three bytes of the second.
  feed(server, ping('3') + ping('4') + ping('5'));
  EXPECT_EQ(sent + flush(server), pong('1') + pong('2') + pong('5'));
}

TEST(WsConnection, BoundsItsOutputWhateverThePeerAndTheSocketDo) {
  WsLimits limits;
  limits.controls_max = 100'000;
  Server server{limits};
  for (int i = 0; i < 1000; ++i) {
    feed(server, frame(Opcode::ping, std::string(125, 'p')));
    server.output_sent(1);
    server.on_time(kStart + 20s);
    ASSERT_LE(server.output().size(), 512U);
  }
  server.close(CloseCode::restart, std::string(500, 'x'), kStart);
  EXPECT_LE(server.output().size(), 512U);
}

TEST(WsConnection, RefusesAFloodOfControlFrames) {
  WsLimits limits;
  limits.controls_max = 10;
  Server server{limits};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(feed(server, frame(Opcode::ping, "")), Events{});
  // A new window, a new count.
  const TimePoint later = kStart + limits.controls_window;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(feed(server, frame(Opcode::pong, ""), later), Events{});
  EXPECT_EQ(feed(server, frame(Opcode::pong, ""), later),
            Events{"closed 1008 too many pings in a second"});
}

TEST(WsConnection, CountsPingsOfItsOwnersProtocolAmongThem) {
  WsLimits limits;
  limits.controls_max = 2;
  Server server{limits};
  EXPECT_EQ(feed(server, frame(Opcode::text, "a") + frame(Opcode::ping, "")), Events{"text a"});
  EXPECT_TRUE(server.count_ping());
  EXPECT_FALSE(server.count_ping());
  EXPECT_EQ(drain(server), Events{"closed 1008 too many pings in a second"});
}

TEST(WsConnection, EchoesACloseAndIsFinishedWhenThatIsSent) {
  Server server;
  EXPECT_TRUE(server.may_send_data());
  EXPECT_EQ(feed(server, frame(Opcode::close, close_payload(3001, "grüße"))),
            Events{"closed 3001 grüße"});
  EXPECT_FALSE(server.may_send_data());
  EXPECT_FALSE(server.finished());
  EXPECT_EQ(flush(server), plain(Opcode::close, close_payload(3001)));
  EXPECT_TRUE(server.finished());
  EXPECT_EQ(outcome(frame(Opcode::close, "")),
            (Outcome{{"closed 1005"}, plain(Opcode::close, "")}));
}

TEST(WsConnection, RefusesCloseFramesThatMayNotBe) {
  expect_refused(frame(Opcode::close, "x"), 1002);
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 2999, 5000}) {
    expect_refused(frame(Opcode::close, close_payload(static_cast<std::uint16_t>(code))), 1002);
  }
  expect_refused(frame(Opcode::close, close_payload(1000, "\xFF")), 1007);
  expect_refused(frame(Opcode::close, close_payload(1000, "\xE2\x82")), 1007);
}

TEST(WsConnection, SaysNothingAfterItsClose) {
  Server server;
  server.close(CloseCode::going_away, "drain", kStart);
  EXPECT_FALSE(server.may_send_data());
  EXPECT_EQ(flush(server), plain(Opcode::close, close_payload(1001, "drain")));
  server.close(CloseCode::normal, "again", kStart);
  EXPECT_EQ(feed(server, frame(Opcode::ping, "x") + frame(Opcode::text, "late")), Events{});
  server.on_time(kStart + 1s);
  EXPECT_EQ(server.output(), "");
  EXPECT_FALSE(server.finished());
  EXPECT_EQ(feed(server, frame(Opcode::close, close_payload(1001)) + frame(Opcode::text, "x")),
            Events{"closed 1001"});
  EXPECT_EQ(server.output(), "");
  EXPECT_TRUE(server.finished());
}

TEST(WsConnection, HearsNothingAfterThePeersClose) {
  EXPECT_EQ(outcome(frame(Opcode::close, close_payload(1000)) + frame(Opcode::ping, "x") +
                    frame(Opcode::text, "x") + "\xFF\xFF"s),
            (Outcome{{"closed 1000"}, plain(Opcode::close, close_payload(1000))}));
}

TEST(WsConnection, CutsALongReasonAtACharacter) {
  Server server;
  server.close(CloseCode::normal, std::string(122, 'x') + "€€", kStart);
  EXPECT_EQ(close_in(flush(server)), "1000 " + std::string(122, 'x'));
}

TEST(WsConnection, ReportsALostPeerOnce) {
  Server server;
  feed(server, frame(Opcode::text, "unfinished", Fin::no));
  server.on_eof();
  EXPECT_EQ(drain(server), Events{"closed 1006 connection lost"});
  server.on_eof();
  server.on_time(kStart + 1h);
  EXPECT_EQ(drain(server), Events{});
  EXPECT_TRUE(server.finished());
}

TEST(WsConnection, MasksWhatAClientSays) {
  WsConnection client{Server::default_limits(), WsRole::client, kStart, 42};
  feed(client, plain(Opcode::ping, "Hello"));
  const std::string pong = flush(client);
  const DecodedHeader decoded = decode_frame_header(as_bytes(pong));
  ASSERT_EQ(decoded.status, FrameStatus::whole);
  ASSERT_TRUE(decoded.header.mask);
  std::string payload = pong.substr(decoded.header.header_bytes);
  apply_mask(std::as_writable_bytes(std::span{payload}), *decoded.header.mask, 0);
  EXPECT_EQ(payload, "Hello");
  feed(client, plain(Opcode::ping, "Hello"));
  EXPECT_NE(flush(client), pong);  // A new mask for each frame.
  Server server;
  client.close(CloseCode::normal, "bye", kStart);
  EXPECT_EQ(feed(server, flush(client)), Events{"closed 1000 bye"});
  EXPECT_EQ(feed(client, flush(server)), Events{"closed 1000"});
  EXPECT_TRUE(client.finished());
}

TEST(WsConnection, HoldsNoMemoryWhenIdle) {
  Server server;
  const std::string long_text(1000, 'x');
  const std::string bytes = frame(Opcode::text, long_text, Fin::no) +
                            frame(Opcode::ping, std::string(100, 'p')) +
                            frame(Opcode::continuation, long_text);
  const std::int64_t before = live_allocations;
  for (std::size_t at = 0; at < bytes.size(); at += 100) {
    std::string piece = bytes.substr(at, 100);
    server.on_input(std::as_writable_bytes(std::span{piece}), kStart);
    while (server.next()) {
    }
  }
  EXPECT_GT(live_allocations, before);  // The pong.
  server.output_sent(server.output().size());
  EXPECT_EQ(live_allocations, before);
}

}  // namespace
}  // namespace seedance::wire
