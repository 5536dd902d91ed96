// TLS on every route, and what becomes of those who do not speak it.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/test_tls.h"
#include "server/test_client.h"

namespace seedance::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kHealth =
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

ServerConfig config_of(const io::TestAuthority::Files& files) {
  ServerConfig config = scripted_config("rate=0,length=2000");
  config.tls = io::TlsOptions{.certificate_file = files.certificate, .key_file = files.key};
  return config;
}

// A client that has shaken hands.
class TlsClient {
 public:
  TlsClient(const TestServer& server, const io::TestTls::Options& options,
            int receive_buffer_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof(receive_buffer_bytes));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(server.port());
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    tls_.emplace(socket_, options);
    EXPECT_TRUE(tls_->connect());
  }

  // All that comes until the server ends the connection in order.
  std::string ask(std::string_view request) {
    EXPECT_TRUE(tls_->send(request));
    std::string all;
    for (std::string more; !(more = tls_->read()).empty();) all += more;
    EXPECT_TRUE(tls_->was_told_the_end());
    return all;
  }

  std::string until(std::string_view end) {
    std::string all;
    while (!all.contains(end)) {
      const std::string more = tls_->read();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

  void send(std::string_view bytes) { EXPECT_TRUE(tls_->send(bytes)); }

  // Common name of the server's certificate.
  std::string server_name() {
    std::string name(100, '\0');
    const X509* certificate = SSL_get0_peer_certificate(tls_->get());
    const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
    name.resize(static_cast<std::size_t>(size));
    return name;
  }

 private:
  io::Fd socket_;
  std::optional<io::TestTls> tls_;
};

// Of the events of a stream.
std::string text_of(const std::string& events) {
  constexpr std::string_view kBegin = "\"text\":\"";
  std::string out;
  for (std::size_t at = 0; (at = events.find(kBegin, at)) != std::string::npos;) {
    at += kBegin.size();
    out += events.substr(at, events.find("\",\"logprobs\"", at) - at);
  }
  return out;
}

class ServerTls : public testing::Test {
 protected:
  TlsClient client() { return TlsClient{server_, {.trusts = &authority_}}; }

  io::TestAuthority authority_;
  io::TestAuthority::Files files_ = authority_.issue("first");
  TestServer server_{config_of(files_)};
};

TEST_F(ServerTls, AnswersAndEndsInOrder) {
  EXPECT_THAT(server_.report().url, StartsWith("https://127.0.0.1:"));
  EXPECT_THAT(client().ask(kHealth), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ServerTls, StreamsWithoutLoss) {
  const std::string body = R"({"prompt":"x","max_tokens":2000,"stream":true})";
  const std::string all = client().ask(
      fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                  "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body));
  EXPECT_THAT(all, HasSubstr("\"finish_reason\":\"stop\""));
  EXPECT_THAT(all, HasSubstr("data: [DONE]"));
}

TEST_F(ServerTls, CarriesWebSockets) {
  TlsClient socket = client();
  socket.send(
      "GET /ws/inference HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      "Sec-WebSocket-Protocol: seedance.v2+json\r\n\r\n");
  EXPECT_THAT(socket.until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
  std::string frame;
  wire::append_masked_frame(frame, wire::Opcode::text, wire::Fin::yes,
                            R"({"type":"INFER_REQ","id":"a","prompt":"x","max_tokens":5})", {});
  socket.send(frame);
  EXPECT_THAT(socket.until("INFER_DONE"), HasSubstr("ACCEPTED"));
}

TEST_F(ServerTls, TellsWhoSpeaksPlainHttp) {
  TestClient plain{server_.port()};
  const TestResponse response = plain.get("/healthz");
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("https://"));
}

TEST_F(ServerTls, KeepsOutPagesThatCameInTheClear) {
  const auto ask = [&](std::string_view origin) {
    return client().ask(fmt::format(
        "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\nConnection: close\r\n\r\n",
        origin));
  };
  EXPECT_THAT(ask("http://localhost"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("https://localhost"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTls, AReloadReplacesTheCertificateAndKeepsConnections) {
  TlsClient before = client();
  EXPECT_EQ(before.server_name(), "first");
  const auto second = authority_.issue("second");
  std::filesystem::rename(second.certificate, files_.certificate);
  std::filesystem::rename(second.key, files_.key);
  ASSERT_TRUE(server_.server().reload(config_of(files_)));
  TlsClient after = client();
  while (after.server_name() != "second") after = client();  // The edge takes it up in its time.
  EXPECT_THAT(before.ask(kHealth), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ServerTls, AReloadWithAWrongFileChangesNothing) {
  std::filesystem::remove(files_.key);
  EXPECT_FALSE(server_.server().reload(config_of(files_)));
  ServerConfig plain = config_of(files_);
  plain.tls.reset();
  EXPECT_FALSE(server_.server().reload(plain));
  EXPECT_THAT(client().ask(kHealth), StartsWith("HTTP/1.1 200 OK\r\n"));
}

// Its common name is the tenant: nobody sees another's streams.
TEST(ServerTlsClients, AreKnownByTheirCertificates) {
  const io::TestAuthority authority;
  const io::TestAuthority clients{"Clients"};
  ServerConfig config = config_of(authority.issue("server"));
  config.tls->client_ca_file = clients.certificate_file();
  config.gate = std::make_shared<const auth::Gate>(auth::GateRules{.certificates = true});
  const TestServer server{config};
  const auto phone = clients.issue("phone");
  const auto laptop = clients.issue("laptop");
  const auto get = [&](std::string_view path, const io::TestAuthority::Files* shows) {
    TlsClient client{server, {.trusts = &authority, .shows = shows}};
    return client.ask(
        fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
  };
  EXPECT_THAT(get("/v1/models", nullptr), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(get("/healthz", nullptr), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/metrics", &phone), StartsWith("HTTP/1.1 403 "));
  TlsClient with_key{server, {.trusts = &authority, .shows = &phone}};
  EXPECT_THAT(with_key.ask("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           "Authorization: Bearer wrong\r\n\r\n"),
              StartsWith("HTTP/1.1 401 "))
      << "who shows a key is who he says by it";
  const std::string body = R"({"prompt":"x","max_tokens":5})";
  const std::string answer = TlsClient{server, {.trusts = &authority, .shows = &phone}}.ask(
      fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                  "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/v1/streams", &phone), HasSubstr("\"stream\":\"st_"));
  EXPECT_THAT(get("/v1/streams", &laptop), HasSubstr("\"data\":[]"));
}

// Every record waits for the reader, and what it has not taken is rendered again.
TEST(ServerTlsSlow, AReaderThatComesBackGetsEverything) {
  const io::TestAuthority authority;
  ServerConfig config = config_of(authority.issue("server"));
  config.models = {{.name = "tale",
                    .version = 1,
                    .engine = ScriptedModel{"rate=0,length=20000,context=1000000"}}};
  config.limits.send_buffer_bytes = 4096;
  const TestServer server{config};
  const auto ask = [&](TlsClient& client) {
    const std::string body = R"({"prompt":"x","stream":true,"max_tokens":20000})";
    client.send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body));
  };
  TlsClient slow{server, {.trusts = &authority}, 4096};
  ask(slow);
  TlsClient fast{server, {.trusts = &authority}};
  ask(fast);
  const std::string whole = text_of(fast.until("[DONE]"));
  EXPECT_GT(whole.size(), 20000U);
  EXPECT_EQ(text_of(slow.until("[DONE]")), whole);
}

TEST(ServerTlsLimits, AHandshakeThatIsNotDoneIsGivenUp) {
  const io::TestAuthority authority;
  ServerConfig config = config_of(authority.issue("server"));
  config.limits.handshake_timeout = std::chrono::milliseconds{50};
  const TestServer server{config};
  TestClient silent{server.port()};
  EXPECT_TRUE(silent.at_end());
  TestClient slow{server.port()};
  slow.send("\x16\x03\x01");
  EXPECT_TRUE(slow.at_end());
}

}  // namespace
}  // namespace seedance::server
