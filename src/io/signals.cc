#include "io/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "io/system_error.h"

namespace seedance::io {

Result<Signals> Signals::open(std::initializer_list<int> numbers) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : numbers) sigaddset(&wanted, number);
  Fd fd{signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd.is_open()) return system_failure("signalfd");
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  return Signals{std::move(fd), before};
}

Signals::Signals(Fd fd, const sigset_t& before)
    : fd_(std::move(fd)), before_(before), had_terminal_(isatty(STDERR_FILENO) != 0) {}

Signals::~Signals() {
  if (fd_.is_open()) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> Signals::next() const {
  signalfd_siginfo signal{};
  if (::read(fd_.get(), &signal, sizeof(signal)) != sizeof(signal)) return std::nullopt;
  const auto number = static_cast<int>(signal.ssi_signo);
  // A terminal that was hung up answers no question any more.
  if (number == SIGHUP && had_terminal_ && isatty(STDERR_FILENO) == 0) return SIGTERM;
  return number;
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace seedance::io
