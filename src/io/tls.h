// TLS 1.2 and 1.3 (RFC 5246, RFC 8446), by OpenSSL: the server's rules, and connections.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "io/clock.h"
#include "io/fd.h"
#include "io/socket.h"
#include "io/tls_client.h"

namespace seedance::io {

struct TlsOptions {
  std::string certificate_file;  // PEM: the server's own, then those that lead to a root.
  std::string key_file;          // PEM, without a passphrase.
  std::string client_ca_file;  // PEM: who signs certificates of clients; empty = none is asked for.
  bool client_required = false;    // No connection without such a certificate.
  WallTime (*clock)() = wall_now;  // When a client's certificate has expired.

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// Certificate, key and rules. Offers http/1.1 (ALPN, RFC 7301), takes sessions up
// again by tickets (RFC 5077, RFC 8446 section 2.2), keeps none. Any thread may use
// it; connections that it began outlive it.
class TlsContext {
 public:
  // `before`: whose sessions can be taken up again here too, where the rules for clients
  // and their authorities are the same. Errors (invalid) name the file and what is wrong
  // with it.
  static Result<TlsContext> open(const TlsOptions& options, const TlsContext* before = nullptr);

  // When the certificate does.
  WallTime expires() const;

 private:
  friend class TlsStream;
  struct Free {
    void operator()(SSL_CTX* context) const;
  };

  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  void take_ticket_keys(const TlsContext& before);

  std::unique_ptr<SSL_CTX, Free> context_;
};

// Who the peer is, by a certificate that was verified.
struct PeerCertificate {
  std::string subject;      // RFC 4514: "CN=phone,O=Example".
  std::string common_name;  // Empty when it has none, or several.
};

// One side of TLS on a socket, which its owner keeps open. The handshake runs as bytes
// are received; a client's begins with the first call. Idle, it holds no buffer. Belongs
// to one thread.
class TlsStream {
 public:
  TlsStream(const TlsContext& context, const Fd& socket);
  // The client's side, of a connection to that host.
  TlsStream(const TlsClient& client, const std::string& host, const Fd& socket);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // As io::receive(), but `open` may come with less than was offered: more may wait, and
  // others should have their turn before it is read.
  Moved receive(std::span<std::byte> into);

  // As io::send(), but `blocked` may come with all bytes taken: the last record of
  // them, encrypted, waits here for the socket. Takes no more until flush() is true.
  Moved send(std::string_view bytes);

  // Whether the socket has everything that was taken, or will never have it.
  bool flush();

  // Says to the peer that nothing more comes (close_notify).
  void shutdown_send();

  bool established() const;

  // The peer spoke HTTP without TLS.
  bool met_plain_http() const;

  // Why TLS broke the connection; empty when it did not. For clients.
  std::string problem() const;

  // Nothing before the handshake is done, or where the peer has shown none.
  std::optional<PeerCertificate> peer() const;

 private:
  struct Transport;  // What OpenSSL reads from and writes to.
  void attach();
  Moved::Flow flow_after(int result);

  const Fd& socket_;
  std::string backlog_;        // Encrypted; the socket did not take it yet.
  std::size_t allowance_ = 0;  // What one call may still take from the socket.
  int idle_records_ = 0;       // In a row, that brought no data.
  bool dry_ = false;           // The socket had nothing more.
  bool broken_ = false;
  bool heard_ = false;
  unsigned long error_ = 0;  // OpenSSL's first.
  std::unique_ptr<SSL, TlsClient::Free> ssl_;
};

}  // namespace seedance::io
