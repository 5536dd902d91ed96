#include "apps/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spelling.h"

namespace seedance::apps {
namespace {

// What --help does not show is in no group.
bool is_shown(const std::string& group) {
  return !group.empty();
}

std::string misspelled_flag(const CLI::App& app, std::string_view word) {
  const std::string_view given = word.substr(0, word.find('='));
  Nearest nearest{given.substr(std::min(given.find_first_not_of('-'), given.size()))};
  for (const CLI::Option* option : app.get_options()) {
    if (!is_shown(option->get_group())) continue;
    for (const std::string& name : option->get_lnames()) nearest.offer(name);
  }
  if (nearest.name().empty()) return {};
  return fmt::format("there is no {}; did you mean --{}?", given, nearest.name());
}

std::string misspelled_command(const CLI::App& app, std::string_view word) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty() || !app.get_subcommands().empty()) return {};
  Nearest nearest{word};
  for (const CLI::App* command : commands) {
    if (is_shown(command->get_group())) nearest.offer(command->get_name());
  }
  return fmt::format(
      "there is no command {}{}", word,
      nearest.name().empty() ? "" : fmt::format("; did you mean {}?", nearest.name()));
}

}  // namespace

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

std::string misspelled(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    std::string found =
        word.starts_with('-') ? misspelled_flag(app, word) : misspelled_command(app, word);
    if (!found.empty()) return found;
  }
  for (const CLI::App* given : app.get_subcommands()) {
    if (std::string found = misspelled(*given); !found.empty()) return found;
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
