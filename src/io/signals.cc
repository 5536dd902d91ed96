#include "io/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "io/system_error.h"

namespace seedance::io {

Result<StopSignals> StopSignals::open() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  Fd fd{signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd.is_open()) return system_failure("signalfd");
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  return StopSignals{std::move(fd), before};
}

StopSignals::~StopSignals() {
  if (fd_.is_open()) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> StopSignals::next() const {
  signalfd_siginfo signal{};
  if (::read(fd_.get(), &signal, sizeof(signal)) != sizeof(signal)) return std::nullopt;
  return static_cast<int>(signal.ssi_signo);
}

}  // namespace seedance::io
