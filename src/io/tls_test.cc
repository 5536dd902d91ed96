#include "io/tls.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/poller.h"
#include "io/test_tls.h"

namespace seedance::io {
namespace {

using testing::HasSubstr;

TlsOptions options_of(const TestAuthority::Files& files) {
  return {.certificate_file = files.certificate, .key_file = files.key};
}

TlsContext open_context(const TlsOptions& options, const TlsContext* before = nullptr) {
  auto context = TlsContext::open(options, before);
  EXPECT_TRUE(context) << context.error().detail;
  return std::move(*context);
}

// One connection: the server's end here, the client in a thread.
class Talk {
 public:
  explicit Talk(const TlsContext& context) {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    EXPECT_EQ(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    ours_ = Fd{fds[0]};
    theirs_ = Fd{fds[1]};
    stream_ = std::make_unique<TlsStream>(context, ours_);
  }

  // The client asks "a", hears "b", and acts. What the server receives until it is
  // done, or until the connection breaks.
  std::string run(const TestTls::Options& options, const std::function<void(TestTls&)>& act = {}) {
    client_ = std::make_unique<TestTls>(theirs_, options);
    const std::jthread thread{[&] {
      if (client_->connect() && client_->send("a")) heard_ = client_->read();
      if (act && heard_ == "b") act(*client_);
      shutdown(theirs_.get(), SHUT_WR);
    }};
    return serve();
  }

  // To the server, all at once.
  void deliver(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(theirs_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  std::string serve() {
    auto poller = Poller::open();
    EXPECT_TRUE(poller->add(ours_, {1}));
    std::string got;
    std::array<std::byte, 100> buffer;
    for (;;) {
      if (leaves_errors) ERR_raise(ERR_LIB_USER, 1);
      const Moved moved = stream_->receive(buffer);
      if (moved.bytes > 0 && got.empty()) EXPECT_EQ(stream_->send("b").bytes, 1U);
      got += as_text(Bytes{buffer}.first(moved.bytes));
      if (moved.flow == Moved::Flow::open && moved.bytes < buffer.size()) ++cut_short_;
      if (moved.bytes > 0) peer_ = stream_->peer();
      if (moved.flow == Moved::Flow::closed) break;
      if (moved.flow == Moved::Flow::blocked) poller->wait(kNever);
    }
    shutdown(ours_.get(), SHUT_RDWR);
    return got;
  }

  bool leaves_errors = false;  // Somebody else does, in this thread.

  TlsStream& stream() { return *stream_; }
  TestTls& client() { return *client_; }
  const std::string& heard() const { return heard_; }
  const std::optional<PeerCertificate>& peer() const { return peer_; }
  const Fd& other_end() const { return theirs_; }
  int cut_short() const { return cut_short_; }

 private:
  Fd ours_;
  Fd theirs_;
  std::unique_ptr<TlsStream> stream_;
  std::unique_ptr<TestTls> client_;
  std::string heard_;
  int cut_short_ = 0;  // Calls that gave up their turn.
  std::optional<PeerCertificate> peer_;
};

TEST(TlsStream, SpeaksBothVersions) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Talk talk{context};
    EXPECT_EQ(talk.run({.trusts = &authority, .version_max = version}), "a");
    EXPECT_EQ(talk.heard(), "b");
    EXPECT_EQ(SSL_version(talk.client().get()), version);
  }
  Talk old{context};
  EXPECT_EQ(old.run({.trusts = &authority, .version_max = TLS1_1_VERSION}), "");
  EXPECT_EQ(ERR_GET_REASON(old.client().error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
}

TEST(TlsStream, DoesNotNegotiateAgain) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  bool again = true;
  EXPECT_EQ(talk.run({.trusts = &authority, .version_max = TLS1_2_VERSION},
                     [&](TestTls& client) {
                       SSL_renegotiate(client.get());
                       again = SSL_do_handshake(client.get()) == 1;
                     }),
            "a");
  EXPECT_FALSE(again);
}

TEST(TlsStream, GivesUpItsTurnOverRecordsWithoutData) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  const std::string got = talk.run({.trusts = &authority}, [&](TestTls& client) {
    client.hold();
    for (int i = 0; i < 60; ++i) {
      for (int j = 0; j < 30; ++j) ASSERT_TRUE(client.update_keys());
      ASSERT_TRUE(client.send("x"));
    }
    talk.deliver(client.held());
  });
  EXPECT_EQ(got, "a" + std::string(60, 'x'));
  EXPECT_GT(talk.cut_short(), 0);
}

TEST(TlsStream, IsClosedToWhoSendsNothingButRecordsWithoutData) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  const std::string got = talk.run({.trusts = &authority}, [&](TestTls& client) {
    client.hold();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.update_keys());
    ASSERT_TRUE(client.send("x"));
    talk.deliver(client.held());
  });
  EXPECT_EQ(got, "a");
}

// Each of its records asks for an answer.
TEST(TlsStream, KeepsNoMoreThanSoMuchForWhoReadsNothing) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  constexpr std::size_t kRecords = 15'000;
  const std::string got = talk.run({.trusts = &authority}, [&](TestTls& client) {
    client.hold();
    for (std::size_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(client.update_keys(SSL_KEY_UPDATE_REQUESTED));
      ASSERT_TRUE(client.send("x"));
    }
    talk.deliver(client.held());
  });
  EXPECT_GT(got.size(), 1000U);
  EXPECT_LT(got.size(), kRecords);
}

TEST(TlsStream, MindsNoErrorThatSomebodyElseLeftBehind) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  talk.leaves_errors = true;
  const auto more = [](TestTls& client) { client.send("c"); };
  EXPECT_EQ(talk.run({.trusts = &authority}, more), "ac");
}

TEST(TlsStream, OffersHttpAndNothingElse) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk http{context};
  EXPECT_EQ(http.run({.trusts = &authority, .alpn = "http/1.1"}), "a");
  Talk http2{context};
  EXPECT_EQ(http2.run({.trusts = &authority, .alpn = "h2"}), "");
}

TEST(TlsStream, TakesASessionUpAgainAlsoAfterAReload) {
  const TestAuthority authority;
  const TlsOptions options = options_of(authority.issue("server"));
  const TlsContext context = open_context(options);
  Talk first{context};
  EXPECT_EQ(first.run({.trusts = &authority}), "a");
  EXPECT_EQ(SSL_session_reused(first.client().get()), 0);
  SSL_SESSION* session = SSL_get1_session(first.client().get());
  const TlsContext reloaded = open_context(options, &context);
  Talk second{reloaded};
  EXPECT_EQ(second.run({.trusts = &authority, .session = session}), "a");
  EXPECT_EQ(SSL_session_reused(second.client().get()), 1);
  const TlsContext other = open_context(options);
  Talk third{other};
  EXPECT_EQ(third.run({.trusts = &authority, .session = session}), "a");
  EXPECT_EQ(SSL_session_reused(third.client().get()), 0);
  SSL_SESSION_free(session);
}

// One that connects with the session of another.
bool is_resumed(const TlsContext& first, const TlsContext& second, const TestTls::Options& client) {
  Talk before{first};
  EXPECT_EQ(before.run(client), "a");
  TestTls::Options again = client;
  again.session = SSL_get1_session(before.client().get());
  Talk after{second};
  (void)after.run(again);
  SSL_SESSION_free(again.session);
  return SSL_session_reused(after.client().get()) == 1;
}

TEST(TlsStream, TakesNoSessionUpAgainWhenOtherClientsAreLetIn) {
  const TestAuthority authority;
  const TestAuthority clients{"Clients"};
  const TestAuthority others{"Clients"};
  TlsOptions options = options_of(authority.issue("server"));
  options.client_ca_file = clients.certificate_file();
  const TlsContext context = open_context(options);
  const auto phone = clients.issue("phone");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const TestTls::Options client{.trusts = &authority, .shows = &phone, .version_max = version};
    EXPECT_TRUE(is_resumed(context, open_context(options, &context), client));
    TlsOptions required = options;
    required.client_required = true;
    EXPECT_FALSE(is_resumed(context, open_context(required, &context), client));
    TlsOptions other = options;
    other.client_ca_file = others.certificate_file();
    EXPECT_FALSE(is_resumed(context, open_context(other, &context), client));
  }
}

TEST(TlsStream, TakesNoSessionUpAgainWhenTheClientsCertificateHasExpired) {
  const TestAuthority authority;
  const TestAuthority clients{"Clients"};
  TlsOptions options = options_of(authority.issue("server"));
  options.client_ca_file = clients.certificate_file();
  const TlsContext context = open_context(options);
  options.clock = [] { return wall_now() + std::chrono::hours{36}; };
  const TlsContext later = open_context(options, &context);
  const auto old = clients.issue("old", 1);
  const auto phone = clients.issue("phone", 2);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const TestTls::Options shows_old{.trusts = &authority, .shows = &old, .version_max = version};
    EXPECT_FALSE(is_resumed(context, later, shows_old));
    const TestTls::Options client{.trusts = &authority, .shows = &phone, .version_max = version};
    EXPECT_TRUE(is_resumed(context, later, client));
  }
}

TEST(TlsStream, KnowsAClientByItsCertificate) {
  const TestAuthority authority;
  const TestAuthority clients{"Clients"};
  const TestAuthority strangers{"Strangers"};
  TlsOptions options = options_of(authority.issue("server"));
  options.client_ca_file = clients.certificate_file();
  const auto phone = clients.issue("phone");
  const auto stranger = strangers.issue("phone");
  const TlsContext asked = open_context(options);
  options.client_required = true;
  const TlsContext required = open_context(options);

  Talk known{required};
  EXPECT_EQ(known.run({.trusts = &authority, .shows = &phone}), "a");
  ASSERT_TRUE(known.peer());
  EXPECT_EQ(known.peer()->common_name, "phone");
  EXPECT_EQ(known.peer()->subject, "CN=phone");
  Talk unknown{required};
  EXPECT_EQ(unknown.run({.trusts = &authority, .shows = &stranger}), "");
  Talk without{required};
  EXPECT_EQ(without.run({.trusts = &authority}), "");
  Talk optional{asked};
  EXPECT_EQ(optional.run({.trusts = &authority}), "a");
  EXPECT_FALSE(optional.peer());
}

TEST(TlsStream, NoticesHttpWithoutTls) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server")));
  Talk talk{context};
  const std::string_view request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_GT(::send(talk.other_end().get(), request.data(), request.size(), 0), 0);
  EXPECT_EQ(talk.serve(), "");
  EXPECT_TRUE(talk.stream().met_plain_http());
  Talk garbage{context};
  ASSERT_GT(::send(garbage.other_end().get(), "\x16\x03\x01garbage-garbage", 18, 0), 0);
  shutdown(garbage.other_end().get(), SHUT_WR);
  EXPECT_EQ(garbage.serve(), "");
  EXPECT_FALSE(garbage.stream().met_plain_http());
}

TEST(TlsContext, NamesTheFileThatIsWrong) {
  const TestAuthority authority;
  const auto files = authority.issue("server");
  const auto other = authority.issue("other");
  const auto detail = [](const TlsOptions& options) {
    const auto context = TlsContext::open(options);
    EXPECT_FALSE(context);
    return context.error().detail;
  };
  EXPECT_EQ(detail({.certificate_file = "/nowhere.pem", .key_file = files.key}),
            "tls_cert: /nowhere.pem: No such file or directory");
  EXPECT_EQ(detail({.certificate_file = files.certificate, .key_file = "/nowhere.key"}),
            "tls_key: /nowhere.key: No such file or directory");
  EXPECT_THAT(detail({.certificate_file = files.certificate, .key_file = other.key}),
              HasSubstr("not that of the certificate"));
  EXPECT_EQ(
      detail({.certificate_file = files.certificate,
              .key_file = files.key,
              .client_ca_file = files.key}),
      "tls_client_ca: " + files.key + ": it holds no certificate in PEM form (BEGIN CERTIFICATE)");
}

TEST(TlsContext, KnowsWhenItsCertificateExpires) {
  const TestAuthority authority;
  const TlsContext context = open_context(options_of(authority.issue("server", 10)));
  const auto left = context.expires() - wall_now();
  EXPECT_GT(left, std::chrono::hours{24 * 9});
  EXPECT_LE(left, std::chrono::hours{24 * 10});
}

}  // namespace
}  // namespace seedance::io
