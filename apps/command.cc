#include "apps/command.h"

#include <fmt/core.h>

#include <cstdio>

namespace seedance::apps {

int complain(ExitCode code, std::string_view line) {
  std::fflush(stdout);
  fmt::print(stderr, "seedance: {}\n", line);
  return code;
}

}  // namespace seedance::apps
