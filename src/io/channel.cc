#include "io/channel.h"

#include <utility>

namespace seedance::io {

Channel::Channel(Fd socket, const TlsContext* tls)
    : socket_(std::move(socket)),
      tls_(tls == nullptr ? nullptr : std::make_unique<TlsStream>(*tls, socket_)) {}

Channel::Channel(Fd socket, const TlsClient* tls, const std::string& host)
    : socket_(std::move(socket)),
      tls_(tls == nullptr ? nullptr : std::make_unique<TlsStream>(*tls, host, socket_)) {}

Channel::~Channel() {
  close();
}

Moved Channel::receive(std::span<std::byte> into) {
  return tls_ ? tls_->receive(into) : io::receive(socket_, into);
}

Moved Channel::send(std::string_view bytes) {
  return tls_ ? tls_->send(bytes) : io::send(socket_, bytes);
}

Moved Channel::send_last(std::string_view bytes) {
  constexpr std::size_t kRecordExtra = 256;  // What TLS adds to each record of 16 KiB.
  make_room(socket_, bytes.size() + (tls_ ? kRecordExtra * (1 + bytes.size() / 16384) : 0));
  (void)flush();
  return send(bytes);
}

void Channel::shutdown_send() {
  if (tls_) tls_->shutdown_send();
  io::shutdown_send(socket_);
}

void Channel::close() {
  if (!socket_.is_open()) return;
  if (tls_) tls_->shutdown_send();
  socket_.close();
}

}  // namespace seedance::io
