// The client's side of TLS: whom it trusts, and why a server was not.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace seedance::io {

struct TlsClientOptions {
  std::string ca_file;           // PEM: whom to trust; empty = the authorities of the system.
  std::string certificate_file;  // PEM, shown to servers that ask for one; needs the key.
  std::string key_file;          // PEM, without a passphrase.
  bool verify = true;            // False: any server is believed.

  friend bool operator==(const TlsClientOptions&, const TlsClientOptions&) = default;
};

// Any thread may use it; connections that it began outlive it.
class TlsClient {
 public:
  // Errors (invalid) name the flag, the file and what is wrong with it.
  static Result<TlsClient> open(const TlsClientOptions& options);

  struct Free {
    void operator()(SSL* ssl) const;
    void operator()(SSL_CTX* context) const;
  };

  // A connection to the host, a name or an address, which its certificate must have. It
  // has no transport yet, and has not begun.
  std::unique_ptr<SSL, Free> connection_to(const std::string& host) const;

 private:
  explicit TlsClient(SSL_CTX* context) : context_(context) {}

  std::unique_ptr<SSL_CTX, Free> context_;
};

// Why a connection ended without a good-bye: a sentence about the server, for the error
// that OpenSSL queued first (0 = it queued none). `heard`: the server had said something
// already. Empty when TLS is not to blame.
std::string tls_problem(const SSL* ssl, unsigned long error, bool heard);

}  // namespace seedance::io
