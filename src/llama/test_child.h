// A child process of a test, at the other end of a socket.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "llama/message_socket.h"

namespace seedance::llama {

class TestChild {
 public:
  // Forks; the child ends with what `run` returns for its end of the socket.
  explicit TestChild(const std::function<int(int)>& run);
  ~TestChild();
  TestChild(const TestChild&) = delete;
  TestChild& operator=(const TestChild&) = delete;

  void send(std::string_view messages);

  // The next message; nothing when the child has closed its end.
  std::optional<Bytes> receive();

  void signal(int number);
  void close_socket() { socket_.reset(); }

  // Waits for its end: the exit code, or minus the number of the signal.
  int wait();

 private:
  std::unique_ptr<MessageSocket> socket_;
  pid_t pid_ = -1;
};

}  // namespace seedance::llama
