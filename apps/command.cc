#include "apps/command.h"

#include <fmt/core.h>

namespace seedance::apps {

void let_options_repeat(CLI::App& app) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::string repeated_option(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() != 1 || option->count() < 2) continue;
    return option->count() == 2
               ? fmt::format("{} was given twice, and takes one value", option->get_name())
               : fmt::format("{} was given {} times, and takes one value", option->get_name(),
                             option->count());
  }
  for (const CLI::App* given : app.get_subcommands()) {
    if (std::string found = repeated_option(*given); !found.empty()) return found;
  }
  return {};
}

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
