// WsConnection with permessage-deflate (RFC 7692).
#include <gtest/gtest.h>

#include <vector>

#include "wire/deflate.h"
#include "wire/ws_connection.h"
#include "wire/ws_handshake.h"

namespace seedance::wire {
namespace {

using namespace std::string_literals;

constexpr MaskKey kMask{std::byte{0xA1}, std::byte{0x02}, std::byte{0xFF}, std::byte{0x5C}};
constexpr TimePoint kStart{std::chrono::hours{1}};

std::string frame(Opcode opcode, std::string_view payload, Fin fin = Fin::yes,
                  Compressed compressed = Compressed::no) {
  std::string out;
  append_masked_frame(out, opcode, fin, payload, kMask, compressed);
  return out;
}

std::string packed(std::string_view message) {
  Deflater deflater;
  std::string out;
  deflater.compress(as_bytes(message), {}, out);
  return out;
}

// The message in a frame, compressed.
std::string packed_frame(Opcode opcode, std::string_view message) {
  return frame(opcode, packed(message), Fin::yes, Compressed::yes);
}

using Events = std::vector<std::string>;

class WsDeflateTest : public testing::Test {
 protected:
  WsDeflateTest() { server_.emplace(limits_, WsRole::server, kStart); }

  // A new connection's events of these bytes, in pieces of one size.
  Events events(const std::string& bytes, std::size_t piece_bytes = SIZE_MAX) {
    server_.emplace(limits_, WsRole::server, kStart);
    server_->allow_compression(inflater_);
    Events out;
    for (std::size_t at = 0; at < bytes.size();) {
      std::string piece = bytes.substr(at, piece_bytes);
      at += piece.size();
      server_->on_input(std::as_writable_bytes(std::span{piece}), kStart);
      while (const auto event = server_->next()) out.push_back(show(*event));
      std::ranges::fill(piece, '#');
    }
    return out;
  }

  static std::string show(const WsEvent& event) {
    if (const auto* message = std::get_if<WsMessage>(&event)) {
      return (message->kind == WsMessage::Kind::text ? "text " : "binary ") +
             std::string{message->text()};
    }
    const auto& closed = std::get<WsClosed>(event);
    return "closed " + std::to_string(closed.code) + " " + std::string{closed.reason};
  }

  WsLimits limits_;
  Inflater inflater_;
  std::optional<WsConnection> server_;
};

TEST_F(WsDeflateTest, ReadsCompressedAndPlainMessagesInTurn) {
  const std::string bytes = packed_frame(Opcode::text, "héllo") + frame(Opcode::text, "plain") +
                            packed_frame(Opcode::binary, "\xFF\0"s) +
                            packed_frame(Opcode::text, "") +
                            frame(Opcode::text, "", Fin::yes, Compressed::yes);
  const Events expected{"text héllo", "text plain", "binary \xFF\0"s, "text ", "text "};
  for (const std::size_t piece : {1UZ, 2UZ, 3UZ, 7UZ, 1000UZ})
    EXPECT_EQ(events(bytes, piece), expected);
}

TEST_F(WsDeflateTest, JoinsFragmentsBeforeItInflates) {
  const std::string message = packed("a message in pieces, pieces, pieces ✓");
  std::string bytes = frame(Opcode::text, "", Fin::no, Compressed::yes);
  for (const char byte : message) {
    bytes += frame(Opcode::continuation, std::string{byte}, Fin::no) + frame(Opcode::ping, "");
  }
  bytes += frame(Opcode::continuation, "");
  for (const std::size_t piece : {1UZ, 5UZ, 1000UZ}) {
    EXPECT_EQ(events(bytes, piece), Events{"text a message in pieces, pieces, pieces ✓"});
  }
}

// Whatever messages of other connections come in between.
TEST_F(WsDeflateTest, ConnectionsShareAnInflater) {
  WsConnection other{limits_, WsRole::server, kStart};
  other.allow_compression(inflater_);
  const std::string whole = packed("one of two");
  std::string half = frame(Opcode::text, whole.substr(0, 4), Fin::no, Compressed::yes);
  other.on_input(std::as_writable_bytes(std::span{half}), kStart);
  EXPECT_FALSE(other.next());
  EXPECT_EQ(events(packed_frame(Opcode::text, "mine")), Events{"text mine"});
  std::string rest = frame(Opcode::continuation, whole.substr(4));
  other.on_input(std::as_writable_bytes(std::span{rest}), kStart);
  const auto event = other.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(show(*event), "text one of two");
}

TEST_F(WsDeflateTest, TakesTheMarkOnlyOnTheFirstFrameOfAMessage) {
  const Events malformed{"closed 1002 malformed frame"};
  EXPECT_EQ(events(frame(Opcode::ping, "", Fin::yes, Compressed::yes)), malformed);
  EXPECT_EQ(events(frame(Opcode::close, "", Fin::yes, Compressed::yes)), malformed);
  EXPECT_EQ(events(frame(Opcode::text, "", Fin::no, Compressed::yes) +
                   frame(Opcode::continuation, packed("x"), Fin::yes, Compressed::yes)),
            malformed);
  // The other two bits stay reserved. One byte is enough to tell.
  EXPECT_EQ(events("\xA1"), malformed);
  EXPECT_EQ(events("\x91"), malformed);
  EXPECT_EQ(events("\xE1"), malformed);
}

TEST_F(WsDeflateTest, RefusesTheMarkWhereNothingWasAgreed) {
  WsConnection plain{limits_, WsRole::server, kStart};
  std::string bytes = packed_frame(Opcode::text, "x");
  plain.on_input(std::as_writable_bytes(std::span{bytes}), kStart);
  EXPECT_EQ(show(plain.next().value()), "closed 1002 malformed frame");
}

// C4.
TEST_F(WsDeflateTest, LimitsTheMessageNotTheFrame) {
  limits_.message_bytes_max = 1000;
  EXPECT_EQ(events(packed_frame(Opcode::text, std::string(1000, 'x'))).front().size(), 1005U);
  const Events too_big{"closed 1009 message too big"};
  EXPECT_EQ(events(packed_frame(Opcode::text, std::string(1001, 'x'))), too_big);
  EXPECT_EQ(events(packed_frame(Opcode::text, std::string(8'000'000, 'x'))), too_big);
  // In fragments, too; and none of its bytes can be more than any message takes.
  const std::string bomb = packed(std::string(8'000'000, 'x')).substr(0, 600);
  EXPECT_EQ(
      events(frame(Opcode::text, bomb, Fin::no, Compressed::yes) + frame(Opcode::continuation, "")),
      too_big);
  EXPECT_EQ(events(frame(Opcode::binary, std::string(2000, 'x'), Fin::no, Compressed::yes)),
            too_big);
}

TEST_F(WsDeflateTest, ValidatesWhatComesOut) {
  EXPECT_EQ(events(packed_frame(Opcode::text, "a\xFFz")), Events{"closed 1007 text is not UTF-8"});
  EXPECT_EQ(events(packed_frame(Opcode::text, "cut \xE2\x82")),
            Events{"closed 1007 text is not UTF-8"});
  EXPECT_EQ(events(frame(Opcode::text, "\xFF\xFF\xFF", Fin::yes, Compressed::yes)),
            Events{"closed 1007 message is not deflated"});
}

TEST_F(WsDeflateTest, InflatesNothingBehindItsClose) {
  server_->allow_compression(inflater_);
  server_->close(CloseCode::going_away, "", kStart);
  std::string bytes = packed_frame(Opcode::text, "late") +
                      frame(Opcode::text, "\xFF\xFF", Fin::yes, Compressed::yes);
  server_->on_input(std::as_writable_bytes(std::span{bytes}), kStart);
  EXPECT_FALSE(server_->next());
}

TEST(DeflateHandshake, AnswersAnOfferWhereItIsOn) {
  HttpRequest request{.method = "GET", .target = "/"};
  request.headers = {{"Upgrade", "websocket"},
                     {"Connection", "Upgrade"},
                     {"Sec-WebSocket-Version", "13"},
                     {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                     {"Sec-WebSocket-Extensions", "permessage-deflate"}};
  const auto off = check_upgrade(request, {});
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->deflate);
  const auto on = check_upgrade(request, {}, Compression::on);
  ASSERT_TRUE(on);
  ASSERT_TRUE(on->deflate);
  std::string out;
  append_upgrade_response(out, *on);
  EXPECT_NE(out.find("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
                     "client_no_context_takeover\r\n"),
            std::string::npos);
  request.headers.back().value = "permessage-deflate;";
  EXPECT_FALSE(check_upgrade(request, {}, Compression::on));
  EXPECT_TRUE(check_upgrade(request, {}));
}

}  // namespace
}  // namespace seedance::wire
