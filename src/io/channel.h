// The bytes of one connection, in the clear or through TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/socket.h"
#include "io/tls.h"
#include "io/tls_client.h"

namespace seedance::io {

// Owns the socket. As the functions of io/socket.h, and one thing more: after
// `blocked` the owner waits until the socket is writable and calls flush(), again
// after each wait until it is true. Belongs to one thread.
class Channel {
 public:
  // Through TLS where there is a context.
  Channel(Fd socket, const TlsContext* tls);
  // The client's side, of a connection to that host.
  Channel(Fd socket, const TlsClient* tls, const std::string& host);
  ~Channel();

  const Fd& fd() const { return socket_; }

  Moved receive(std::span<std::byte> into);
  Moved send(std::string_view bytes);
  Moved send_last(std::string_view bytes);

  // Whether the socket took everything that send() did.
  bool flush() { return !tls_ || tls_->flush(); }

  // Both ends can talk: the handshake, if there is one, is done.
  bool established() const { return !tls_ || tls_->established(); }

  // Why TLS broke the connection; empty when it did not. For clients.
  std::string problem() const { return tls_ ? tls_->problem() : std::string{}; }

  bool met_plain_http() const { return tls_ && tls_->met_plain_http(); }
  std::optional<PeerCertificate> peer() const { return tls_ ? tls_->peer() : std::nullopt; }

  // Says to the peer that nothing more comes; reading goes on.
  void shutdown_send();
  void close();

 private:
  Fd socket_;
  std::unique_ptr<TlsStream> tls_;  // Refers to the socket: a channel does not move.
};

}  // namespace seedance::io
