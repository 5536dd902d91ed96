#include "wire/ws_handshake.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::wire {
namespace {

constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view kSupported[] = {"seedance.v2+json", "seedance.v2+binary"};

HttpRequest request(const std::vector<HttpHeader>& changes = {}) {
  HttpRequest request{.method = "GET", .target = "/ws/inference"};
  request.headers = {{"Host", "a"},
                     {"Upgrade", "websocket"},
                     {"Connection", "keep-alive, Upgrade"},
                     {"Sec-WebSocket-Version", "13"},
                     {"Sec-WebSocket-Key", std::string{kKey}}};
  for (const HttpHeader& change : changes) {
    std::erase_if(request.headers, [&](const HttpHeader& h) { return h.name == change.name; });
    if (!change.value.empty()) request.headers.push_back(change);
  }
  return request;
}

int status_of(const HttpRequest& request) {
  const auto upgrade = check_upgrade(request, kSupported);
  return upgrade ? 101 : upgrade.error().status;
}

// The example of RFC 6455 section 1.3.
TEST(Handshake, AcceptsTheKeyOfTheStandard) {
  EXPECT_EQ(accept_key(kKey), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const auto upgrade = check_upgrade(request(), kSupported);
  ASSERT_TRUE(upgrade);
  std::string out;
  append_upgrade_response(out, *upgrade);
  EXPECT_EQ(out,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
}

TEST(Handshake, RefusesWhatIsNotAProperUpgrade) {
  EXPECT_EQ(status_of(request()), 101);
  EXPECT_EQ(status_of(request({{"Upgrade", "WebSocket"}})), 101);
  EXPECT_EQ(status_of(request({{"Upgrade", ""}})), 426);
  EXPECT_EQ(status_of(request({{"Upgrade", "h2c"}})), 400);
  EXPECT_EQ(status_of(request({{"Connection", ""}})), 400);
  EXPECT_EQ(status_of(request({{"Connection", "close"}})), 400);
  EXPECT_EQ(status_of(request({{"Sec-WebSocket-Version", "8"}})), 426);
  EXPECT_EQ(status_of(request({{"Sec-WebSocket-Version", ""}})), 426);
  HttpRequest post = request();
  post.method = "POST";
  EXPECT_EQ(status_of(post), 400);
  HttpRequest old = request();
  old.http_1_0 = true;
  EXPECT_EQ(status_of(old), 400);
  HttpRequest with_body = request();
  with_body.body = "x";
  EXPECT_EQ(status_of(with_body), 400);
}

TEST(Handshake, WantsAKeyOfSixteenBytes) {
  for (const char* key :
       {"", "x", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZXg=",
        "dGhlIHNhbXBsZSBub25jZR==", "dGhlIHNhbXBsZSBub25j Q==", "dGhlIHNhbXBsZSBub25jZQ==="}) {
    EXPECT_EQ(status_of(request({{"Sec-WebSocket-Key", key}})), 400) << key;
  }
  HttpRequest twice = request();
  twice.headers.push_back({"sec-websocket-key", std::string{kKey}});
  EXPECT_EQ(status_of(twice), 400);
  const auto key = make_key({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255});
  EXPECT_EQ(status_of(request({{"Sec-WebSocket-Key", key}})), 101);
}

std::string_view chosen(const std::vector<std::string>& offers) {
  HttpRequest asked = request();
  for (const std::string& offer : offers) {
    asked.headers.push_back({"Sec-WebSocket-Protocol", offer});
  }
  const auto upgrade = check_upgrade(asked, kSupported);
  return upgrade ? upgrade->protocol : "refused";
}

TEST(Handshake, ChoosesTheClientsFirstSupportedProtocol) {
  EXPECT_EQ(chosen({}), "");
  EXPECT_EQ(chosen({"seedance.v2+binary, seedance.v2+json"}), "seedance.v2+binary");
  EXPECT_EQ(chosen({"other", "seedance.v2+json"}), "seedance.v2+json");
  EXPECT_EQ(chosen({"other"}), "");
  EXPECT_EQ(chosen({"Seedance.v2+json"}), "");  // Names are compared as they are.
}

TEST(Handshake, RefusesAProtocolListThatIsNone) {
  for (const char* offer :
       {"", ",", "a,", ",a", "a b", "a,,b", "a;b", "\"a\"", "caf\xC3\xA9", "\xFF", "a, (b)"}) {
    EXPECT_EQ(chosen({offer}), "refused") << offer;
  }
}

TEST(Handshake, ReadsALongProtocolListInOnePass) {
  std::string offers;
  for (int i = 0; i < 100'000; ++i) offers += "x,";
  EXPECT_EQ(chosen({offers + "seedance.v2+json"}), "seedance.v2+json");
}

// Some clients send a credential as a protocol, for want of a header.
TEST(Handshake, NeverEchoesWhatItDoesNotKnow) {
  const HttpRequest asked =
      request({{"Sec-WebSocket-Protocol", "bearer.secret, seedance.v2+json"}});
  const auto upgrade = check_upgrade(asked, kSupported);
  ASSERT_TRUE(upgrade);
  std::string out;
  append_upgrade_response(out, *upgrade);
  EXPECT_EQ(out.find("secret"), std::string::npos);
  EXPECT_NE(out.find("Sec-WebSocket-Protocol: seedance.v2+json\r\n"), std::string::npos);
}

TEST(Handshake, BothSidesAgree) {
  std::string asked;
  append_upgrade_request(asked, {.host = "a:1",
                                 .target = "/ws",
                                 .key = kKey,
                                 .protocol = kSupported[1],
                                 .headers = {{"Authorization", "Bearer x"}}});
  const HttpLimits limits;
  HttpParser parser{limits};
  EXPECT_EQ(parser.on_input(as_bytes(asked)), asked.size());
  ASSERT_TRUE(parser.complete());
  const HttpRequest seen = parser.take();
  EXPECT_TRUE(wants_websocket(seen));
  EXPECT_EQ(seen.header("Authorization"), "Bearer x");
  const auto upgrade = check_upgrade(seen, kSupported);
  ASSERT_TRUE(upgrade);
  std::string answer;
  append_upgrade_response(answer, *upgrade);
  const std::size_t head = answer.size();
  answer += "\x81\x02hi";
  const auto result = check_upgrade_response(as_bytes(answer), kKey, kSupported[1]);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->head_bytes, head);
  EXPECT_EQ(result->protocol, kSupported[1]);
  for (std::size_t cut = 0; cut < head; ++cut) {
    const auto part = check_upgrade_response(as_bytes(answer.substr(0, cut)), kKey, "");
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error().code, Errc::truncated);
  }
}

TEST(Handshake, ClientRefusesAWrongAnswer) {
  const std::string good =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
  const auto check = [](const std::string& answer) {
    const auto result = check_upgrade_response(as_bytes(answer), kKey, "p");
    return result ? "" : result.error().detail;
  };
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string changed = good;
    return changed.replace(changed.find(from), from.size(), to);
  };
  EXPECT_EQ(check(good), "");
  EXPECT_EQ(check(with("101 Switching Protocols", "401 Unauthorized")),
            "server answered 401 Unauthorized");
  EXPECT_NE(check(with("websocket", "h2c")), "");
  EXPECT_NE(check(with("Connection: Upgrade", "Connection: close")), "");
  EXPECT_NE(check(with("s3pP", "s3pQ")), "");
  EXPECT_NE(check(with("\r\n\r\n", "\r\nSec-WebSocket-Protocol: q\r\n\r\n")), "");
  EXPECT_NE(check(with("\r\n\r\n", "\r\nSec-WebSocket-Extensions: x\r\n\r\n")), "");
  EXPECT_EQ(check(with("\r\n\r\n", "\r\nSec-WebSocket-Protocol: p\r\n\r\n")), "");
  EXPECT_NE(check("SSH-2.0-x\r\n\r\n"), "");
}

}  // namespace
}  // namespace seedance::wire
