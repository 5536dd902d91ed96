#include "llama/child.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace seedance::llama {

void follow_parent(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parent{.fd = fd, .events = 0, .revents = 0};
  if (poll(&parent, 1, 0) > 0) _exit(0);  // It died before we asked to be told.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace seedance::llama
