#include "llama/message_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace seedance::llama {

MessageSocket::~MessageSocket() {
  close(fd_);
}

Result<std::optional<Bytes>> MessageSocket::receive(Wait wait) {
  std::array<std::byte, std::size_t{64} * 1024> buffer;
  while (true) {
    auto message = reader_.next();
    if (!message || *message) return message;
    const int flags = wait == Wait::yes ? 0 : MSG_DONTWAIT;
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), flags);
    if (count > 0) {
      reader_.feed(Bytes{buffer}.first(static_cast<std::size_t>(count)));
    } else if (count == 0) {
      return fail(Errc::disconnected, "the other end is closed");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return std::optional<Bytes>{};
    } else if (errno != EINTR) {
      return fail(Errc::disconnected, std::strerror(errno));
    }
  }
}

Result<void> MessageSocket::send(std::string_view messages) {
  while (!messages.empty()) {
    const ssize_t count = ::send(fd_, messages.data(), messages.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      messages.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return fail(Errc::disconnected, std::strerror(errno));
    }
  }
  return {};
}

}  // namespace seedance::llama
