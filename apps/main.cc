// seedance: flags in, objects built, run.
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <exception>
#include <string>

#include "apps/command.h"

namespace seedance::apps {
namespace {

constexpr std::string_view kAbout =
    "Seedance streams the tokens of language models over WebSocket and SSE.\n\n"
    "  seedance serve                         serve the demo model on 127.0.0.1:8080\n"
    "  seedance serve --model model.gguf      serve a model of your own\n"
    "  seedance chat                          talk to it\n"
    "  seedance bench                         put it under load and measure it\n"
    "  seedance init                          write a commented seedance.yaml\n\n"
    "`seedance COMMAND --help` tells more.";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done, 1 failed while running, 2 wrong flags, settings or model file, "
    "130 interrupted.";

// CLI11 writes several lines; the first says what is wrong.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

int run(int argc, char** argv) {
  CLI::App app{std::string{kAbout}, "seedance"};
  app.footer(std::string{kExitCodes});
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", versions, "Print the version, and that of llama.cpp");
  let_options_repeat(app);
  const std::array commands{add_serve(app),  add_chat(app),      add_bench(app), add_init(app),
                            add_fit(app),    add_journal(app),   add_keys(app),  add_version(app),
                            add_worker(app), add_vocabulary(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    if (const std::string meant = misspelled(app); !meant.empty()) return complain(kUsage, meant);
    return app.exit(help);
  } catch (const CLI::Success& done) {  // As after --version.
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    const std::string meant = misspelled(app);
    return complain(kUsage,
                    (meant.empty() ? first_line(error.what()) : meant) + " (see seedance --help)");
  }
  if (const std::string repeated = repeated_option(app); !repeated.empty()) {
    return complain(kUsage, repeated);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kUsage;
}

}  // namespace

}  // namespace seedance::apps

int main(int argc, char** argv) {
  // A child is started from a path that says nothing (io::kOwnProgram).
  (void)prctl(PR_SET_NAME, program_invocation_short_name);
  try {
    return seedance::apps::run(argc, argv);
  } catch (const std::exception& error) {  // Of a library: our own code does not throw.
    return seedance::apps::complain(seedance::apps::kFailed, error.what());
  }
}
