#include "io/child_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "io/system_error.h"

namespace seedance::io {

Result<ChildChannel> ChildChannel::open() {
  std::array<int, 2> pair{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return system_failure("socketpair");
  }
  ChildChannel channel{Fd{pair[0]}, Fd{pair[1]}};
  if (fcntl(channel.ours.get(), F_SETFL, O_NONBLOCK) != 0) return system_failure("fcntl");
  return channel;
}

std::vector<char*> exec_arguments(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace seedance::io
