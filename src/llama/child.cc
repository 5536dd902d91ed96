#include "llama/child.h"

#include <sys/prctl.h>

#include <csignal>

namespace seedance::llama {

void follow_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
}

}  // namespace seedance::llama
