#include "io/system_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace seedance::io {

std::unexpected<Error> system_failure(std::string_view what) {
  const int number = errno;
  Errc code = Errc::invalid;
  if (number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS ||
      number == EAGAIN) {
    code = Errc::overloaded;
  } else if (number == ENOENT || number == EADDRNOTAVAIL) {
    code = Errc::not_found;
  }
  return fail(code, fmt::format("{}: {}", what, std::generic_category().message(number)));
}

}  // namespace seedance::io
