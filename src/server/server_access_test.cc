// Who may come in and whose streams he sees, over real sockets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <vector>

#include "auth/test_token.h"
#include "io/clock.h"
#include "io/file_system.h"
#include "io/test_directory.h"
#include "server/test_client.h"

namespace seedance::server {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kEndless = "rate=1000,length=1000000";
constexpr std::string_view kInfer = R"({"type":"INFER_REQ","id":"a","prompt":"hush"})";

auth::KeyEntry entry(std::string name, std::string tenant, auth::Role role = auth::Role::user) {
  const std::string secret = "key of " + name;
  return {.name = std::move(name),
          .tenant = std::move(tenant),
          .role = role,
          .hash = auth::hash_of(secret),
          .created = "2025-06-30T12:00:00Z"};
}

// Two tenants, and an admin of the first.
auth::GateRules two_tenants() {
  return {.keys = std::vector{entry("a1", "acme"), entry("b1", "other"),
                              entry("ops", "acme", auth::Role::admin)}};
}

ServerConfig guarded(const auth::GateRules& rules = two_tenants()) {
  ServerConfig config;
  config.gate = std::make_shared<const auth::Gate>(rules);
  return config;
}

std::string bearer(std::string_view credential) {
  return fmt::format("Authorization: Bearer {}\r\n", credential);
}

const std::string kAcme = bearer("key of a1");
const std::string kOther = bearer("key of b1");
const std::string kOps = bearer("key of ops");

TestResponse get(const TestServer& server, std::string_view path, std::string_view headers = "") {
  return TestClient{server.port()}.get(path, headers);
}

TestResponse remove(const TestServer& server, std::string_view path, std::string_view headers) {
  TestClient client{server.port()};
  client.send(fmt::format("DELETE {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, headers));
  return client.response();
}

// The head of the answer to a handshake.
std::string upgrade(const TestServer& server, std::string_view target, std::string_view headers) {
  TestClient client{server.port()};
  client.send(
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n{}\r\n",
                  target, headers));
  return client.read_until("\r\n\r\n");
}

std::string ticket_of(const TestServer& server, std::string_view headers = kAcme) {
  const TestResponse answer = TestClient{server.port()}.post("/v1/tickets", "", headers);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json().at("ticket").as_string().c_str();
}

std::string offer(std::string_view protocols) {
  return fmt::format("Sec-WebSocket-Protocol: {}\r\n", protocols);
}

TEST(ServerTenants, SeeTheirOwnStreamsAndNoOthers) {
  const TestServer server{std::string{kEndless}, guarded()};
  TestWebSocket acme{server.port(), api::kJsonSubprotocol, 0, "key of a1"};
  acme.send(kInfer);
  const std::string stream{acme.message("ACCEPTED").at("stream").as_string().c_str()};
  const std::string path = "/v1/streams/" + stream;
  const auto list = [&](const std::string& headers) {
    return get(server, "/v1/streams", headers).body;
  };
  EXPECT_THAT(list(kAcme), HasSubstr(stream));
  EXPECT_THAT(list(kOps), HasSubstr(stream)) << "a key of the same tenant";
  EXPECT_THAT(list(kOther), Not(HasSubstr(stream)));

  for (const TestResponse& refused :
       {get(server, path, kOther), remove(server, path, kOther),
        get(server, path, fmt::format("{}Last-Event-ID: {}:1:3\r\n", kOther, stream))}) {
    EXPECT_EQ(refused.status, 404);
    EXPECT_EQ(refused.error_code(), "stream_not_found");
  }
  TestWebSocket other{server.port(), api::kJsonSubprotocol, 0, "key of b1"};
  other.send(fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":0}})", stream));
  EXPECT_EQ(other.message().at("code"), "stream_not_found");
  other.send(fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", stream));
  EXPECT_EQ(other.message().at("code"), "stream_not_found");

  acme.message("INFER_CHUNK");  // It goes on.
  EXPECT_EQ(remove(server, path, kAcme).status, 200);
  EXPECT_EQ(acme.message("INFER_DONE").at("finish_reason"), "cancelled");
}

TEST(ServerTenants, DoNotShareIdempotencyKeys) {
  const TestServer server{"rate=0,length=3", guarded()};
  const auto ask = [&](const std::string& headers) {
    return TestClient{server.port()}
        .post("/v1/completions", R"({"prompt":"x"})", headers + "Idempotency-Key: k\r\n")
        .headers.at("seedance-stream");
  };
  const std::string acme = ask(kAcme);
  EXPECT_NE(ask(kOther), acme);
  EXPECT_EQ(ask(kAcme), acme);
}

// The code and the reason of the Close that ends it.
std::pair<int, std::string> closing(TestWebSocket& socket) {
  for (;;) {
    const TestWebSocket::Frame frame = socket.frame();
    if (frame.opcode != wire::Opcode::close) continue;
    if (frame.payload.size() < 2) return {};
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(frame.payload[at]); };
    return {(byte(0) << 8) | byte(1), frame.payload.substr(2)};
  }
}

TEST(ServerReload, ClosesWebSocketsOfARevokedKeyAndNoOthersAndTheirStreamsGoOn) {
  TestServer server{std::string{kEndless}, guarded()};
  TestWebSocket gone{server.port(), api::kJsonSubprotocol, 0, "key of a1"};
  gone.send(kInfer);
  const std::string stream{gone.message("ACCEPTED").at("stream").as_string().c_str()};
  TestWebSocket idle{server.port(), api::kJsonSubprotocol, 0, "key of a1"};
  TestWebSocket other{server.port(), api::kJsonSubprotocol, 0, "key of b1"};
  const std::string ticket = ticket_of(server, kAcme);
  ServerConfig config = scripted_config(std::string{kEndless});
  config.gate = std::make_shared<const auth::Gate>(auth::GateRules{
      .keys = std::vector{entry("b1", "other"), entry("ops", "acme", auth::Role::admin)}});
  ASSERT_TRUE(server.server().reload(config));
  for (TestWebSocket* socket : {&gone, &idle}) {
    const auto [code, reason] = closing(*socket);
    EXPECT_EQ(code, 1008);
    EXPECT_THAT(reason, HasSubstr("may not come in any more"));
  }
  EXPECT_THAT(upgrade(server, "/ws/inference?ticket=" + ticket, ""), StartsWith("HTTP/1.1 401 "))
      << "nor does the ticket that the key was changed for";
  other.send(R"({"type":"PING","ts":1})");
  (void)other.message("PONG");
  TestWebSocket admin{server.port(), api::kJsonSubprotocol, 0, "key of ops"};
  admin.send(fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":0}})", stream));
  EXPECT_EQ(admin.message("RESUMED").at("stream").as_string(), stream);
  (void)admin.message("INFER_CHUNK");
}

TEST(ServerRoles, ShowMetricsToAdminsOnly) {
  const TestServer server{"rate=0", guarded()};
  const TestResponse refused = get(server, "/metrics", kAcme);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.error_code(), "permission_denied");
  EXPECT_EQ(get(server, "/metrics").status, 401);
  EXPECT_EQ(get(server, "/v1/models", kAcme).status, 200);
  EXPECT_EQ(get(server, "/v1/models", "Authorization: Bearer wrong\r\n").status, 401);
  const TestResponse metrics = get(server, "/metrics", kOps);
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.body, AllOf(HasSubstr("seedance_refusals_total{cause=\"role\"} 1\n"),
                                  HasSubstr("seedance_refusals_total{cause=\"no_credential\"} 1\n"),
                                  HasSubstr("seedance_refusals_total{cause=\"wrong_key\"} 1\n")));
}

TEST(ServerTickets, OpenOneWebSocketOnce) {
  const TestServer server{"rate=0", guarded()};
  const TestResponse answer = TestClient{server.port()}.post("/v1/tickets", "", kAcme);
  EXPECT_EQ(answer.json().at("expires_in"), 60);
  EXPECT_EQ(answer.headers.at("cache-control"), "no-store");
  const std::string query = "/ws/inference?ticket=" + ticket_of(server);
  EXPECT_THAT(upgrade(server, query, ""), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(upgrade(server, query, ""), StartsWith("HTTP/1.1 401 "));
  const std::string protocols = offer("seedance.ticket." + ticket_of(server));
  EXPECT_THAT(upgrade(server, "/v2/infer", protocols), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(upgrade(server, "/v2/infer", protocols), StartsWith("HTTP/1.1 401 "));
  // Nothing else, and nothing for nobody.
  EXPECT_EQ(get(server, "/v1/models?ticket=" + ticket_of(server)).status, 401);
  EXPECT_EQ(TestClient{server.port()}.post("/v1/tickets", "").status, 401);
  EXPECT_EQ(TestClient{server.port()}.post("/v1/tickets", "", bearer(ticket_of(server))).status,
            401);
  EXPECT_EQ(get(server, "/v1/tickets", kAcme).status, 405);
}

TEST(ServerTickets, AreNotUsedUpByRequestsThatOpenNothing) {
  const TestServer server{"rate=0", guarded()};
  const std::string target = "/ws/inference?ticket=" + ticket_of(server);
  EXPECT_EQ(get(server, target).status, 426);
  EXPECT_EQ(TestClient{server.port()}.post(target, "").status, 405);
  EXPECT_THAT(upgrade(server, target, ""), StartsWith("HTTP/1.1 101 "));
  EXPECT_EQ(get(server, target).status, 401);
}

// Whoever was let in by the head of a request is not asked again for its body.
TEST(ServerTickets, LetInOnceHoweverTheRequestArrives) {
  const TestServer server{"rate=0", guarded()};
  TestClient client{server.port()};
  client.send(
      fmt::format("GET /ws/inference?ticket={} HTTP/1.1\r\nHost: localhost\r\n"
                  "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
                  ticket_of(server)));
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
  client.send("{}");
  EXPECT_EQ(client.response().status, 426);
}

TEST(ServerTickets, StandForTheirTenant) {
  const TestServer server{std::string{kEndless}, guarded()};
  const std::string mine = ticket_of(server, kOther);
  TestWebSocket socket{server.port(), api::kJsonSubprotocol, 0, "", "?ticket=" + mine};
  socket.send(kInfer);
  const std::string stream{socket.message("ACCEPTED").at("stream").as_string().c_str()};
  EXPECT_EQ(remove(server, "/v1/streams/" + stream, kAcme).status, 404);
  EXPECT_EQ(remove(server, "/v1/streams/" + stream, kOther).status, 200);
}

TEST(ServerTickets, ExpireAndAreFew) {
  ServerConfig config = guarded();
  config.tickets = {.tickets_max = 2, .ttl = Duration::zero()};
  TestServer server{"rate=0", config};
  EXPECT_THAT(upgrade(server, "/ws/inference?ticket=" + ticket_of(server), ""),
              StartsWith("HTTP/1.1 401 "));
  config = scripted_config("rate=0");
  config.gate = std::make_shared<const auth::Gate>(two_tenants());
  config.tickets = {.tickets_max = 2, .tenant_max = 2, .ttl = std::chrono::hours{1}};
  ASSERT_TRUE(server.server().reload(config));
  (void)ticket_of(server);
  (void)ticket_of(server);
  const TestResponse refused = TestClient{server.port()}.post("/v1/tickets", "", kAcme);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error_code(), "overloaded");
  EXPECT_THAT(get(server, "/metrics", kOps).body, HasSubstr("seedance_tickets_waiting 2\n"));
}

class ServerTokens : public testing::Test {
 protected:
  static std::string claims(std::string_view more = R"(,"aud":"seedance")",
                            std::int64_t expires_in_s = 600) {
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(io::wall_now().time_since_epoch());
    return fmt::format(R"({{"sub":"acme","exp":{}{}}})", now.count() + expires_in_s, more);
  }
  int status(std::string_view token) const {
    return get(server_, "/v1/models", bearer(token)).status;
  }

  const auth::TestSigner signer_;
  const TestServer server_{
      "rate=0", guarded({.tokens = auth::TokenRules{.key = *auth::public_key(signer_.pem()),
                                                    .audience = "seedance",
                                                    .issuer = ""}})};
};

TEST_F(ServerTokens, OpenEveryRoute) {
  const std::string token = signer_.token(claims());
  EXPECT_EQ(status(token), 200);
  EXPECT_THAT(upgrade(server_, "/ws/inference", bearer(token)), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(upgrade(server_, "/ws/inference", offer("seedance.key." + token)),
              StartsWith("HTTP/1.1 101 "));
  (void)ticket_of(server_, bearer(token));
  EXPECT_EQ(get(server_, "/metrics", bearer(token)).status, 403);
  const std::string admin = signer_.token(claims(R"(,"aud":"seedance","role":"admin")"));
  EXPECT_EQ(get(server_, "/metrics", bearer(admin)).status, 200);
}

// The holder learns what he can mend; what helps to forge one is the operator's to know.
TEST_F(ServerTokens, AreRefusedForAReasonThatTheOperatorSees) {
  const auto told = [&](const std::string& token) {
    return get(server_, "/v1/models", bearer(token)).json().at("error").at("message").as_string();
  };
  constexpr std::string_view kOurs = R"(,"aud":"seedance")";
  EXPECT_EQ(told(signer_.token(claims(kOurs, -61))), "the token has expired; get a new one");
  EXPECT_EQ(told(signer_.token(claims(""))),
            "the token is for another audience than this server; get one for it");
  const std::vector<std::pair<std::string, std::string>> others{
      {"malformed", "a.b.c"},
      {"algorithm", auth::hs256_token(claims())},
      {"signature", auth::TestSigner{'o'}.token(claims())},
      {"no_expiry", signer_.token(R"({"sub":"acme","aud":"seedance"})")},
      {"not_yet", signer_.token(claims(R"(,"aud":"seedance","nbf":1e300)"))},
      {"too_long", signer_.token(claims(std::string(auth::kTokenBytesMax, ' ')))},
  };
  const std::string admin = bearer(signer_.token(claims(R"(,"aud":"seedance","role":"admin")")));
  for (const auto& [cause, token] : others) {
    EXPECT_EQ(told(token), "the token is not valid here; get another") << cause;
    EXPECT_THAT(get(server_, "/metrics", admin).body,
                HasSubstr(fmt::format("seedance_refusals_total{{cause=\"token_{}\"}} 1\n", cause)));
  }
}

TEST_F(ServerTokens, AreNotTakenWhenForged) {
  const std::string none = auth::unsigned_token(R"({"alg":"none"})", claims()) + ".";
  EXPECT_EQ(status(none), 401);
  EXPECT_EQ(status(auth::hs256_token(claims(), signer_.pem())), 401);
  EXPECT_EQ(status(auth::hs256_token(claims(), auth::public_key(signer_.pem())->bytes)), 401);
  EXPECT_EQ(status(auth::TestSigner{'o'}.token(claims())), 401);
  EXPECT_EQ(status(signer_.token(claims(R"(,"aud":"other")"))), 401);
  EXPECT_EQ(status(signer_.token(claims(""))), 401);
  EXPECT_EQ(status(""), 401);
  const TestResponse expired =
      get(server_, "/v1/models", bearer(signer_.token(claims(R"(,"aud":"seedance")", -61))));
  EXPECT_EQ(expired.status, 401);
  EXPECT_THAT(expired.body, HasSubstr("expired"));
}

// C16 of the pitfalls: pages of other sites, and names that were made to point here.
TEST(ServerPitfalls, C16KeepsOutPagesOfOtherSitesAlsoOnLoopback) {
  for (const bool is_guarded : {false, true}) {
    const TestServer server{"rate=0", is_guarded ? guarded() : ServerConfig{}};
    for (const auto* target : {"/ws/inference", "/v2/infer"}) {
      EXPECT_THAT(upgrade(server, target, kAcme + "Origin: https://evil.example\r\n"),
                  StartsWith("HTTP/1.1 403 "));
      EXPECT_THAT(upgrade(server, target, kAcme + "Origin: http://localhost\r\n"),
                  StartsWith("HTTP/1.1 101 "));
      EXPECT_THAT(upgrade(server, target, kAcme + "Origin: null\r\n"), StartsWith("HTTP/1.1 403 "));
    }
    EXPECT_EQ(TestClient{server.port()}
                  .post("/v1/tickets", "", kAcme + "Origin: https://evil.example\r\n")
                  .status,
              403);
    TestClient rebound{server.port()};
    rebound.send("GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n" + kAcme + "\r\n");
    EXPECT_EQ(rebound.response().status, 403);
    // A browser sends cookies by itself, and for other sites too: they open nothing.
    if (is_guarded) {
      EXPECT_EQ(get(server, "/v1/models", "Cookie: key=key of a1\r\n").status, 401);
    }
  }
}

TEST(ServerKeys, TellsNoKeyFromAKeyThatIsNotKnown) {
  const TestServer server{"rate=0", guarded()};
  const auto refusal = [&](std::string_view headers) {
    const TestResponse refused = get(server, "/v1/models", headers);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.error_code(), "unauthenticated");
    return refused.body;
  };
  EXPECT_THAT(refusal(""), HasSubstr("needs an API key, and none was given"));
  EXPECT_THAT(refusal("Authorization: Basic a2V5\r\n"), HasSubstr("none was given"));
  EXPECT_THAT(refusal(bearer("x")), HasSubstr("this API key is not known here"));
}

// C17: a wrong key is refused alike, however much of it is right. (That hashes are
// compared, and in constant time, is the gate's: auth/keys_test.cc.)
TEST(ServerPitfalls, C17TellsNothingOfARightKey) {
  const TestServer server{"rate=0", guarded()};
  const std::string_view right = "key of a1";
  const TestResponse first = get(server, "/v1/models", bearer("x"));
  for (std::size_t count = 1; count < right.size(); ++count) {
    const TestResponse refused = get(server, "/v1/models", bearer(right.substr(0, count)));
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.body, first.body);
    EXPECT_EQ(refused.headers, first.headers);
  }
  EXPECT_EQ(get(server, "/v1/models", bearer(auth::to_hex(auth::hash_of(right)))).status, 401);
}

// C18: what opens the door is never said back.
TEST(ServerPitfalls, C18EchoesNoCredential) {
  const TestServer server{"rate=0", guarded()};
  for (const std::string& secret :
       {std::string{"seedance.key.key-of-a1"}, "seedance.ticket." + ticket_of(server),
        std::string{"seedance.ticket.tk_wrong"}}) {
    for (const std::string& protocols :
         {secret, secret + ", seedance.v2+json", "seedance.v2+json, " + secret}) {
      const std::string answer = upgrade(server, "/ws/inference", offer(protocols));
      EXPECT_THAT(answer, Not(HasSubstr(secret))) << protocols;
      EXPECT_THAT(answer, Not(HasSubstr("seedance.key"))) << protocols;
      EXPECT_THAT(answer, Not(HasSubstr("seedance.ticket"))) << protocols;
    }
  }
  const std::string ticket = ticket_of(server);
  const std::string agreed =
      upgrade(server, "/ws/inference", offer("seedance.ticket." + ticket + ", seedance.v2+json"));
  EXPECT_THAT(agreed, AllOf(StartsWith("HTTP/1.1 101 "),
                            HasSubstr("Sec-WebSocket-Protocol: seedance.v2+json\r\n")));
}

// Of each record what tells one from another; that stream is "st".
std::vector<std::string> summary_of(const std::string& text, const std::string& stream) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const auto record = boost::json::parse(text.substr(at, end - at)).as_object();
    EXPECT_THAT(std::string{record.at("time").as_string()}, StartsWith("20"));
    const auto field = [&](std::string_view name) {
      const auto* value = record.if_contains(name);
      if (value == nullptr) return std::string{"-"};
      return value->is_int64() ? std::to_string(value->as_int64())
                               : std::string{value->as_string()};
    };
    lines.push_back(fmt::format("{} {} {} {} {} {} {} {}", field("event"), field("tenant"),
                                field("role"), field("key"), field("route"),
                                field("stream") == stream ? "st" : field("stream"), field("status"),
                                field("code")));
    if (field("route") != "-") EXPECT_THAT(field("address"), StartsWith("127.0.0.1:"));
    at = end + 1;
  }
  return lines;
}

TEST(ServerAudit, TellsWhoDidWhatAndNothingSecret) {
  const io::TestDirectory directory;
  const std::string path = directory.path() + "/audit.jsonl";
  std::string stream;
  std::string ticket;
  {
    ServerConfig config = guarded();
    config.audit_log = path;
    TestServer server{std::string{kEndless}, config};
    ticket = ticket_of(server);
    TestWebSocket socket{server.port(), api::kJsonSubprotocol, 0, "", "?ticket=" + ticket};
    socket.send(kInfer);
    stream = socket.message("ACCEPTED").at("stream").as_string().c_str();
    socket.send(fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":0}})", stream));
    socket.message("RESUMED");
    EXPECT_EQ(remove(server, "/v1/streams/" + stream, kOther).status, 404);
    EXPECT_EQ(get(server, "/v1/streams/" + stream, kOther).status, 404);
    TestWebSocket other{server.port(), api::kJsonSubprotocol, 0, "key of b1"};
    other.send(fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}","seq":0}})", stream));
    other.message("ERROR");
    other.send(fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", stream));
    other.message("ERROR");
    socket.send(R"({"type":"CANCEL","id":"a"})");
    socket.message("INFER_DONE");
    EXPECT_EQ(get(server, "/metrics", kAcme).status, 403);
    EXPECT_EQ(get(server, "/v1/models", bearer("wrong")).status, 401);
    EXPECT_EQ(get(server, "/ws/inference", kAcme).status, 426);
    EXPECT_EQ(get(server, "/none", kAcme).status, 404);
    EXPECT_EQ(get(server, "/v1/tickets", kAcme).status, 405);
    EXPECT_EQ(get(server, "/v1/models", "Host: other\r\n").status, 400);
    EXPECT_EQ(get(server, "/metrics", kOps).status, 200);
    config = scripted_config(std::string{kEndless});
    config.gate = std::make_shared<const auth::Gate>(two_tenants());
    ASSERT_TRUE(server.server().reload(config));
    server.server().note_failed_reload();
  }
  const std::string text = io::read_file(path).value();
  const std::vector<std::string> lines = summary_of(text, stream);
  for (const auto* line : {
           "ticket acme user a1 tickets - - -",
           "connect acme user a1 websocket - - -",
           "request acme user a1 websocket st - -",
           "resume acme user a1 websocket st - -",
           "cancel acme user a1 websocket st - -",
           "refuse other user b1 stream st 404 stream_not_found",
           "refuse other user b1 websocket st - stream_not_found",
           "refuse acme user a1 metrics - 403 role",
           "refuse - - - models - 401 wrong_key",
           "refuse acme user a1 websocket - 426 invalid_request",
           "refuse acme user a1 unknown - 404 invalid_request",
           "refuse acme user a1 tickets - 405 invalid_request",
           "refuse - - - unknown - 400 invalid_request",
           "reload - - - - - - ok",
           "reload - - - - - - failed",
           "admin - - - - - - drain",
       }) {
    EXPECT_THAT(lines, Contains(line));
  }
  EXPECT_EQ(std::ranges::count(lines, "refuse other user b1 websocket st - stream_not_found"), 2);
  EXPECT_EQ(std::ranges::count(lines, "refuse other user b1 stream st 404 stream_not_found"), 2);
  EXPECT_THAT(lines, Not(Contains(AnyOf(StartsWith("resume other"), StartsWith("cancel other")))))
      << "what was refused was not done";
  EXPECT_THAT(text, AllOf(Not(HasSubstr("hush")), Not(HasSubstr("key of")), Not(HasSubstr(ticket)),
                          Not(HasSubstr("tk_"))));
}

}  // namespace
}  // namespace seedance::server
