#include "apps/command.h"

#include <fmt/core.h>

namespace seedance::apps {

void say(std::FILE* out, std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), out);
  (void)std::fflush(out);
}

int complain(ExitCode code, std::string_view line) {
  (void)std::fflush(stdout);
  say(stderr, fmt::format("seedance: {}\n", line));
  return code;
}

}  // namespace seedance::apps
