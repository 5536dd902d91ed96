// seedance vocabulary: the process that prepares prompts; `seedance serve` starts it.
#include "llama/vocabulary.h"

#include <memory>
#include <string>

#include "apps/command.h"

namespace seedance::apps {

Command add_vocabulary(CLI::App& parent) {
  struct Options {
    int fd = -1;
    std::string model;
    std::int64_t schema_ms = llama::SchemaLimits{}.cpu.count();
  };
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app =
      parent.add_subcommand("vocabulary", "Prepare prompts for `seedance serve`")->group("");
  app->add_option("--fd", options->fd, "Socket to the server")->required();
  app->add_option("--model", options->model)->required();
  app->add_option("--schema-ms", options->schema_ms);
  return {app, [options] {
            return llama::run_vocabulary(options->fd, options->model,
                                         {.cpu = std::chrono::milliseconds{options->schema_ms}});
          }};
}

}  // namespace seedance::apps
