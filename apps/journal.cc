// seedance journal: what a server's journal holds, and whether it is sound.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

#include "apps/command.h"
#include "apps/journal_report.h"

namespace seedance::apps {
namespace {

struct Options {
  std::string directory;
  std::string stream;
  bool as_json = false;
  bool text = false;
};

// A directory that is not there is a mistake of whoever asked.
int complain_of(const Options& options, const Error& error) {
  if (error.code == Errc::corrupt) {
    return complain(kFailed, fmt::format("the journal is damaged: {} (seedance journal verify {} "
                                         "tells more)",
                                         error.detail, options.directory));
  }
  return complain(error.code == Errc::not_found ? kUsage : kFailed, error.detail);
}

int inspect(const Options& options) {
  InspectOptions inspection{.text = options.text};
  if (!options.stream.empty()) {
    inspection.stream = parse_stream_id(options.stream);
    if (!inspection.stream) return complain(kUsage, "no stream id: " + options.stream);
  }
  const auto view = view_journal(options.directory);
  if (!view) return complain_of(options, view.error());
  const bool found = !inspection.stream ||
                     std::ranges::any_of(view->contents.recovery.streams,
                                         [&](const stream::RecoveredStream& stream) {
                                           return stream.state.header.stream == *inspection.stream;
                                         });
  if (!found) {
    return complain(kFailed, fmt::format("{}: no stream {}", options.directory, options.stream));
  }
  fmt::print("{}",
             options.as_json ? inspect_json(*view, inspection) : inspect_text(*view, inspection));
  return kDone;
}

int verify(const Options& options) {
  const auto verdict = verify_journal(options.directory);
  if (!verdict) return complain_of(options, verdict.error());
  fmt::print("{}", verdict->text);
  return verdict->damaged ? kFailed : kDone;
}

}  // namespace

Command add_journal(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("journal", "Look into the journal of a server");
  app->require_subcommand(1);
  CLI::App* inspect_app = app->add_subcommand("inspect", "List its segments and streams");
  inspect_app->add_option("DIR", options->directory, "Its directory")->required();
  inspect_app->add_option("--stream", options->stream, "Only this one, and more of it");
  inspect_app->add_flag("--json", options->as_json, "One JSON object");
  inspect_app->add_flag("--text", options->text, "Also the generated text");
  CLI::App* verify_app = app->add_subcommand(
      "verify", "Read all of it and say what is damaged; exit code 1 if anything is");
  verify_app->add_option("DIR", options->directory, "Its directory")->required();
  return {app, [options, inspect_app] {
            return inspect_app->parsed() ? inspect(*options) : verify(*options);
          }};
}

}  // namespace seedance::apps
