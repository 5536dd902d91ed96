#include "io/tls_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "io/channel.h"
#include "io/test_tls.h"

namespace seedance::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::pair<Fd, Fd> connected() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()), 0);
  return {Fd{fds[0]}, Fd{fds[1]}};
}

TlsClient open_client(const TlsClientOptions& options) {
  auto client = TlsClient::open(options);
  EXPECT_TRUE(client) << client.error().detail;
  return std::move(*client);
}

// Both ends of one connection; the client says "ask", the server "answer".
struct Talk {
  Talk(const TlsClientOptions& options, const std::string& host, const TlsContext* server)
      : client_rules(open_client(options)) {
    auto [ours, theirs] = connected();
    client.emplace(std::move(ours), &client_rules, host);
    other.emplace(std::move(theirs), server);
  }

  // Until both have heard the other, or the connection is broken.
  void run() {
    std::array<std::byte, 1000> buffer;
    std::string_view question = "ask";
    for (int round = 0; round < 100; ++round) {
      const Moved sent = client->send(question);
      question.remove_prefix(sent.bytes);
      const Moved asked = other->receive(buffer);
      server_heard += as_text(Bytes{buffer}.first(asked.bytes));
      if (asked.bytes > 0) EXPECT_EQ(other->send("answer").bytes, 6U);
      if (!peer) peer = other->peer();
      const Moved answered = client->receive(buffer);
      client_heard += as_text(Bytes{buffer}.first(answered.bytes));
      if (!client_heard.empty() || answered.flow == Moved::Flow::closed) return;
      if (asked.flow == Moved::Flow::closed) other->close();
    }
    FAIL() << "it does not end";
  }

  std::string problem() {
    run();
    EXPECT_EQ(server_heard, "");
    return client->problem();
  }

  TlsClient client_rules;
  std::optional<Channel> client;
  std::optional<Channel> other;
  std::string server_heard;
  std::string client_heard;
  std::optional<PeerCertificate> peer;
};

class TlsClientTest : public testing::Test {
 protected:
  TlsContext server(const TestAuthority::Files& files, TlsOptions options = {}) {
    options.certificate_file = files.certificate;
    options.key_file = files.key;
    auto context = TlsContext::open(options);
    EXPECT_TRUE(context) << context.error().detail;
    return std::move(*context);
  }

  TlsClientOptions trusting() const { return {.ca_file = authority_.certificate_file()}; }

  TestAuthority authority_;
  TestAuthority::Files files_ = authority_.issue("server");
  TlsContext server_ = server(files_);
};

TEST_F(TlsClientTest, TalksToServersByNameAndByAddress) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    Talk talk{trusting(), host, &server_};
    talk.run();
    EXPECT_EQ(talk.server_heard, "ask");
    EXPECT_EQ(talk.client_heard, "answer");
    EXPECT_TRUE(talk.client->established());
    EXPECT_EQ(talk.client->problem(), "");
  }
}

TEST_F(TlsClientTest, NamesTheHostsThatACertificateIsFor) {
  for (const char* host : {"example.com", "127.0.0.2"}) {
    Talk talk{trusting(), host, &server_};
    EXPECT_EQ(talk.problem(),
              std::string{"its certificate is for localhost, 127.0.0.1, not for "} + host);
  }
}

TEST_F(TlsClientTest, SaysWhichCertificateIsNotTrusted) {
  const TestAuthority other{"Other"};
  Talk stranger{{.ca_file = other.certificate_file()}, "localhost", &server_};
  EXPECT_THAT(stranger.problem(), AllOf(HasSubstr("CN=server, signed by CN=Test authority"),
                                        HasSubstr("not trusted: unable to get local issuer")));
  const TlsContext expired = server(authority_.issue("old", -1));
  Talk late{trusting(), "localhost", &expired};
  EXPECT_THAT(late.problem(), AllOf(HasSubstr("CN=old"), HasSubstr("expired")));
}

// The system's authorities did not sign it.
TEST_F(TlsClientTest, TrustsTheSystemsAuthoritiesAlone) {
  Talk talk{{}, "localhost", &server_};
  EXPECT_THAT(talk.problem(), HasSubstr("not trusted"));
}

TEST_F(TlsClientTest, BelievesAnyServerWhereItIsTold) {
  Talk talk{{.verify = false}, "example.com", &server_};
  talk.run();
  EXPECT_EQ(talk.client_heard, "answer");
}

// Each of OpenSSL's two buffers would double what a connection takes. (What
// sanitizers allocate is not seen here.)
TEST_F(TlsClientTest, AServersEndHoldsNoBufferWhileItIsIdle) {
  constexpr std::size_t kRecordBytes = 16384;
  Talk talk{trusting(), "localhost", &server_};
  talk.run();
  const std::size_t before = mallinfo2().uordblks;
  talk.other.reset();
  EXPECT_LT(before - mallinfo2().uordblks, kRecordBytes);
}

TEST_F(TlsClientTest, ShowsItsCertificate) {
  const TestAuthority clients{"Clients"};
  const TlsContext asks =
      server(files_, {.client_ca_file = clients.certificate_file(), .client_required = true});
  const auto phone = clients.issue("phone");
  TlsClientOptions options = trusting();
  Talk without{options, "localhost", &asks};
  EXPECT_THAT(without.problem(), AllOf(HasSubstr("it refused"), HasSubstr("certificate required")));
  options.certificate_file = phone.certificate;
  options.key_file = phone.key;
  Talk with{options, "localhost", &asks};
  with.run();
  EXPECT_EQ(with.client_heard, "answer");
  ASSERT_TRUE(with.peer);
  EXPECT_EQ(with.peer->common_name, "phone");
}

TEST_F(TlsClientTest, KnowsServersWithoutTls) {
  Talk talk{trusting(), "localhost", nullptr};
  (void)talk.client->send("ask");
  EXPECT_GT(talk.other->send("HTTP/1.1 400 Bad Request\r\n\r\n").bytes, 0U);
  std::array<std::byte, 10> buffer;
  EXPECT_EQ(talk.client->receive(buffer).flow, Moved::Flow::closed);
  EXPECT_THAT(talk.client->problem(), HasSubstr("does not speak TLS"));
}

TEST_F(TlsClientTest, KnowsServersThatHangUp) {
  Talk talk{trusting(), "localhost", nullptr};
  (void)talk.client->send("ask");
  std::array<std::byte, 1000> buffer;
  (void)talk.other->receive(buffer);  // So that it is closed and not reset.
  talk.other->close();
  EXPECT_EQ(talk.client->receive(buffer).flow, Moved::Flow::closed);
  EXPECT_THAT(talk.client->problem(), HasSubstr("during the TLS handshake"));
}

// A reset takes with it what the server had to say.
TEST_F(TlsClientTest, GuessesWhyAServerHangsUpRightAfterTheHandshake) {
  Talk talk{trusting(), "localhost", &server_};
  std::array<std::byte, 100> buffer;
  for (int round = 0; round < 4; ++round) {
    (void)talk.client->receive(buffer);
    (void)talk.other->receive(buffer);
  }
  EXPECT_TRUE(talk.client->established());
  shutdown(talk.other->fd().get(), SHUT_RDWR);
  EXPECT_EQ(talk.client->receive(buffer).flow, Moved::Flow::closed);
  EXPECT_THAT(talk.client->problem(), HasSubstr("certificate"));
}

TEST_F(TlsClientTest, NamesTheFlagAndTheFileThatIsWrong) {
  const auto trouble = [](const TlsClientOptions& options) {
    const auto client = TlsClient::open(options);
    EXPECT_FALSE(client);
    return client ? "" : client.error().detail;
  };
  EXPECT_THAT(trouble({.ca_file = "/nowhere"}), HasSubstr("--ca-file: /nowhere: No such file"));
  EXPECT_THAT(trouble({.certificate_file = files_.certificate}), HasSubstr("--key"));
  EXPECT_THAT(trouble({.certificate_file = files_.key, .key_file = files_.key}),
              HasSubstr("--cert: "));
  EXPECT_THAT(trouble({.certificate_file = files_.certificate, .key_file = "/nowhere"}),
              HasSubstr("--key: /nowhere"));
}

}  // namespace
}  // namespace seedance::io
