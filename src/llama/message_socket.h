// Messages over a blocking stream socket, for child processes.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/message.h"
#include "base/result.h"

namespace seedance::llama {

// One end of a socketpair, and its owner. Belongs to one thread.
class MessageSocket {
 public:
  explicit MessageSocket(int fd) : fd_(fd) {}
  ~MessageSocket();
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  enum class Wait : std::uint8_t { no, yes };

  // The next body, valid until the next call; without waiting, nothing when none
  // has come. Disconnected when the other end is closed, corrupt when what comes
  // is no message.
  Result<std::optional<Bytes>> receive(Wait wait);

  // Sends whole messages. Waits as long as the socket is full.
  Result<void> send(std::string_view messages);

 private:
  int fd_;
  MessageReader reader_;
};

}  // namespace seedance::llama
