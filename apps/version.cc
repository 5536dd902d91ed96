// seedance version: what this binary is made of.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/command.h"
#include "llama/version.h"
#include "wire/json.h"

namespace seedance::apps {
namespace {

int run(bool as_json) {
  if (!as_json) {
    fmt::print("{}\n", versions());
    return kDone;
  }
  const std::string llama = llama::llama_cpp_version();
  std::string out;
  wire::JsonWriter json{out};
  json.begin_object().field("seedance", kVersion).field("llama_cpp", llama).end_object();
  fmt::print("{}\n", out);
  return kDone;
}

}  // namespace

std::string versions() {
  return fmt::format("seedance {}\nllama.cpp {}", kVersion, llama::llama_cpp_version());
}

Command add_version(CLI::App& parent) {
  auto as_json = std::make_shared<bool>(false);  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("version", "Print the version, and that of llama.cpp");
  app->add_flag("--json", *as_json, "As one JSON object");
  return {app, [as_json] { return run(*as_json); }};
}

}  // namespace seedance::apps
