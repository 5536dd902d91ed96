// seedance init: a commented settings file to start from.
#include <fmt/core.h>

#include <memory>

#include "apps/command.h"
#include "apps/files.h"
#include "config/load.h"

namespace seedance::apps {
namespace {

struct Options {
  std::string path = "seedance.yaml";
  std::string model;
  bool force = false;
};

int run(const Options& options) {
  config::Settings settings;
  settings.model_path = options.model;
  const std::string text = config::commented_file(settings);
  // Its reader only: it may come to hold API keys.
  const auto written =
      write_file(options.path, text, options.force ? Overwrite::yes : Overwrite::no);
  if (!written) return complain(kUsage, written.error().detail);
  fmt::print("{}: written. Next: seedance serve{}{}\n", options.path,
             options.path == "seedance.yaml" ? "" : " --config " + options.path,
             options.model.empty() ? " (the demo model, until model_path is set)" : "");
  return kDone;
}

}  // namespace

Command add_init(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app =
      parent.add_subcommand("init", "Write a commented seedance.yaml with all settings");
  app->add_option("FILE", options->path, "Where to write it")->capture_default_str();
  app->add_option("--model", options->model, "GGUF file to name in it");
  app->add_flag("--force", options->force, "Replace a file that is there");
  return {app, [options] { return run(*options); }};
}

}  // namespace seedance::apps
