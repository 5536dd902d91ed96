#include "llama/test_child.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace seedance::llama {

TestChild::TestChild(const std::function<int(int)>& run) {
  std::array<int, 2> ends{};
  SEEDANCE_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "a socketpair can be made");
  pid_ = fork();
  SEEDANCE_CHECK(pid_ >= 0, "a process can be made");
  if (pid_ == 0) {
    ::close(ends[0]);
    _exit(run(ends[1]));
  }
  ::close(ends[1]);
  socket_ = std::make_unique<MessageSocket>(ends[0]);
}

TestChild::~TestChild() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  wait();
}

void TestChild::send(std::string_view messages) {
  static_cast<void>(socket_->send(messages));
}

std::optional<Bytes> TestChild::receive() {
  const auto body = socket_->receive(MessageSocket::Wait::yes);
  return body ? *body : std::nullopt;
}

void TestChild::signal(int number) {
  kill(pid_, number);
}

int TestChild::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace seedance::llama
