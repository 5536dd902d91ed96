#include "server/echo_session.h"

#include <gmock/gmock.h>

#include "io/clock.h"
#include "server/test_session.h"
#include "wire/deflate.h"

namespace seedance::server {
namespace {

using wire::Compressed;
using wire::Fin;
using wire::Opcode;

std::string asked(Opcode opcode, std::string_view payload, Fin fin = Fin::yes,
                  Compressed compressed = Compressed::no) {
  std::string out;
  wire::append_masked_frame(out, opcode, fin, payload, {}, compressed);
  return out;
}

std::string said(Opcode opcode, std::string_view payload) {
  std::string out;
  wire::append_frame_header(out, opcode, Fin::yes, payload.size());
  return out += payload;
}

class EchoSessionTest : public SessionTest {
 protected:
  void send(std::string bytes) {
    session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
    std::ranges::fill(bytes, '#');
  }

  // All that it has to say, taken in pieces of about this size.
  std::string output(std::size_t bytes_max = kPlenty) {
    std::string all;
    for (;;) {
      Rendering out;
      session_.render(out, bytes_max, kNow);
      EXPECT_LE(out.bytes.size(), bytes_max + 512);
      EXPECT_EQ(out.fixed, out.bytes.size());
      if (out.bytes.empty()) return all;
      all += out.bytes;
      session_.on_sent(kNow);
    }
  }

  EchoSession session_{context_, std::nullopt, kNow};
};

TEST_F(EchoSessionTest, SaysMessagesBackInTheOrderOfEverything) {
  send(asked(Opcode::ping, "1") + asked(Opcode::text, "two") + asked(Opcode::ping, "3") +
       asked(Opcode::binary, "fo", Fin::no) + asked(Opcode::ping, "4") +
       asked(Opcode::continuation, "ur") + asked(Opcode::text, ""));
  EXPECT_EQ(output(), said(Opcode::pong, "1") + said(Opcode::text, "two") +
                          said(Opcode::pong, "3") + said(Opcode::pong, "4") +
                          said(Opcode::binary, "four") + said(Opcode::text, ""));
}

TEST_F(EchoSessionTest, ReadsNothingWhileItsEchoIsUnsent) {
  EXPECT_TRUE(session_.wants_input());
  const std::string big(100'000, 'x');
  send(asked(Opcode::text, big) + asked(Opcode::text, "next"));
  EXPECT_FALSE(session_.wants_input());
  EXPECT_EQ(output(1000), said(Opcode::text, big) + said(Opcode::text, "next"));
  EXPECT_TRUE(session_.wants_input());
}

TEST_F(EchoSessionTest, HoldsOneMessageHoweverManyCameAtOnce) {
  std::string bytes;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    bytes += asked(Opcode::text, "message");
    expected += said(Opcode::text, "message");
  }
  send(bytes);
  Rendering out;
  session_.render(out, kPlenty, kNow);
  EXPECT_EQ(out.bytes, said(Opcode::text, "message"));
  session_.on_sent(kNow);
  EXPECT_EQ(out.bytes + output(), expected);
  EXPECT_EQ(counters_.messages_received.value(), 1000U);
}

TEST_F(EchoSessionTest, ClosesBehindItsEcho) {
  send(asked(Opcode::text, "last") + asked(Opcode::close, "\x03\xE8 bye") +
       asked(Opcode::text, "never"));
  EXPECT_EQ(session_.ending(), Session::Ending::open);
  EXPECT_EQ(output(), said(Opcode::text, "last") + said(Opcode::close, "\x03\xE8"));
  EXPECT_EQ(session_.ending(), Session::Ending::close);
}

TEST_F(EchoSessionTest, PutsNoControlFrameIntoAMessage) {
  const std::string big(10'000, 'x');
  send(asked(Opcode::binary, big));
  Rendering out;
  session_.render(out, 5000, kNow);
  session_.on_sent(kNow);
  session_.on_drain(kNow);
  const std::string all = out.bytes + output(5000);
  EXPECT_TRUE(all.starts_with(said(Opcode::binary, big) + "\x88"));
  EXPECT_THAT(all, testing::HasSubstr("shutting down"));
}

// The time that a message may take to come does not run while its echo is unsent.
TEST_F(EchoSessionTest, ASlowReaderIsNotASlowWriter) {
  send(asked(Opcode::text, "one", Fin::no) + asked(Opcode::continuation, "two"));
  session_.on_blocked(kNow);
  session_.on_unblocked(kNow + std::chrono::seconds{59});
  session_.on_time(kNow + std::chrono::seconds{61});
  EXPECT_EQ(output(), said(Opcode::text, "onetwo"));
}

TEST_F(EchoSessionTest, DropsAPeerThatIsGone) {
  send(asked(Opcode::text, "x"));
  session_.on_end(kNow);
  EXPECT_EQ(session_.ending(), Session::Ending::drop);
}

TEST_F(EchoSessionTest, EndsWhenItsPeerMayNotComeInAnyMore) {
  EXPECT_FALSE(session_.on_access(kNow));
  context_.access.gate = std::make_shared<const auth::Gate>(auth::GateRules{.plain_keys = {"k"}});
  EXPECT_TRUE(session_.on_access(kNow));
  EXPECT_THAT(output(), testing::HasSubstr("\x03\xf0you may not come in any more"));
  send(asked(Opcode::text, "x"));
  EXPECT_EQ(output(), "");
}

TEST_F(EchoSessionTest, EndsWithTheTokenOfItsPeer) {
  constexpr Duration kHolds = std::chrono::seconds{10};
  EchoSession session{context_, {}, kNow, {.principal = {.until = io::wall_now() + kHolds}}};
  EXPECT_LE(session.deadline(), kNow + kHolds);
  session.on_time(kNow);
  EXPECT_EQ(render(session, kNow), "");
  session.on_time(kNow + kHolds);
  EXPECT_THAT(render(session, kNow + kHolds), testing::HasSubstr("\x03\xf0your token has expired"));
}

TEST_F(EchoSessionTest, SpeaksDeflateWhereThatWasAgreed) {
  EchoSession session{context_, wire::WsDeflate{}, kNow};
  const std::string text(5000, 'x');
  std::string packed;
  context_.deflater.compress(as_bytes(text), {}, packed);
  std::string bytes = asked(Opcode::text, packed, Fin::yes, Compressed::yes);
  session.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  std::string expected;
  wire::append_frame_header(expected, Opcode::text, Fin::yes, packed.size(), Compressed::yes);
  EXPECT_EQ(render(session, kNow), expected + packed);
}

TEST_F(HttpSessionTest, TheEchoRouteIsOffUnlessAskedFor) {
  constexpr std::string_view kUpgrade =
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  request("GET", "/debug/echo", kUpgrade);
  EXPECT_THAT(render(session_, kNow), testing::StartsWith("HTTP/1.1 404"));
  context_.config.debug_echo = true;
  request("GET", "/debug/echo", kUpgrade);
  auto upgrade = session_.take_upgrade();
  EXPECT_THAT(upgrade.response, testing::StartsWith("HTTP/1.1 101"));
  EXPECT_NE(dynamic_cast<EchoSession*>(upgrade.session.get()), nullptr);
}

}  // namespace
}  // namespace seedance::server
