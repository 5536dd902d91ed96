// What the subcommands have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace seedance::apps {

inline constexpr std::string_view kVersion = SEEDANCE_VERSION;

// Scripts may rely on these.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,         // Something went wrong while running.
  kUsage = 2,          // Flags, settings, files or addresses: nothing was started.
  kInterrupted = 130,  // By Ctrl-C, as shells say it.
};

// A subcommand: its flags are known to the parser, `run` follows the parsing.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};

Command add_serve(CLI::App& parent);
Command add_bench(CLI::App& parent);
Command add_chat(CLI::App& parent);
Command add_fit(CLI::App& parent);
Command add_init(CLI::App& parent);
Command add_journal(CLI::App& parent);
Command add_keys(CLI::App& parent);
Command add_version(CLI::App& parent);
Command add_worker(CLI::App& parent);
Command add_vocabulary(CLI::App& parent);

// What this binary is made of, a line each.
std::string versions();

// To be called before commands are added: options that take one value take the last, so
// that whoever gave several is told of that, and not that the first is wrong.
void let_options_repeat(CLI::App& app);

// Which option of `app`, or of the subcommands that were given, takes one value and was
// given several, in a sentence; empty = none.
std::string repeated_option(const CLI::App& app);

// Which command there is not, or which flag where one was probably meant that there is, in a
// sentence; empty = neither. For when the parsing has failed.
std::string misspelled(const CLI::App& app);

// Writes and flushes. That nobody reads it is no failure: a server outlives its readers.
void say(std::FILE* out, std::string_view text);

// One line on standard error; gives `code` back.
int complain(ExitCode code, std::string_view line);

}  // namespace seedance::apps
