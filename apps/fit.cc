// seedance fit: how much memory a model takes, and how many streams fit.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/adapters.h"
#include "apps/command.h"
#include "apps/demo_model.h"
#include "apps/settings_file.h"
#include "config/settings.h"
#include "llama/memory_fit.h"
#include "llama/system_memory.h"

namespace seedance::apps {
namespace {

namespace json = boost::json;

const auto kSpeculateTokens = static_cast<std::uint32_t>(config::Settings{}.speculate_tokens);

struct Options {
  llama::WorkerOptions worker;
  std::vector<std::string> adapters;
  std::uint32_t batch_tokens = 0;
  std::optional<std::uint32_t> speculate_tokens = {};
  std::uint64_t memory = 0;
  bool as_json = false;
};

std::string size(std::uint64_t bytes) {
  constexpr double kMib = 1U << 20U;
  const double mib = static_cast<double>(bytes) / kMib;
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

// The last line: whether it fits, and otherwise why not and what would.
std::string verdict(const llama::MemoryFit& fit) {
  const std::uint64_t most = fit.streams_max(fit.context_tokens);
  const std::string would =
      most == 0 ? ""
                : fmt::format("; all of that has room for {} streams of {} tokens{}", most,
                              fit.context_tokens,
                              most == llama::kSequencesMax ? ", the most that run at a time" : "");
  const auto tight = std::ranges::find_if(fit.devices, [](const llama::DeviceFit& device) {
    return device.together() > device.available;
  });
  if (tight == fit.devices.end()) {
    const char* const spared = fit.spares ? ", and a tenth of what is available is left" : "";
    return fmt::format("it fits{}{}\n", spared, would);
  }
  const std::string asked =
      fit.parameters.kv_unified
          ? fmt::format("room for {} tokens", fit.tokens)
          : fmt::format("room for {} streams of {} tokens each", fit.streams, fit.context_tokens);
  return fmt::format("it does not fit: {}, weights included, takes {} of {}, {} are available{}\n",
                     asked, size(tight->together()), tight->name, size(tight->available),
                     most == 0 ? ": give fewer tokens or more memory" : would);
}

std::string text_of(const llama::MemoryFit& fit, const std::string& model) {
  std::string out =
      fmt::format("{}: {} streams of {} tokens\n", model, fit.streams, fit.context_tokens);
  for (const llama::DeviceFit& device : fit.devices) {
    out += fmt::format("{}\n", device.name);
    out += fmt::format("  weights          {:>12}\n", size(device.weights + device.adapters));
    out += fmt::format("  the streams      {:>12}\n", size(device.streams + device.records));
    out += fmt::format("  a step           {:>12}\n", size(device.compute));
    out += fmt::format("  together         {:>12} of {} available\n", size(device.together()),
                       size(device.available));
  }
  out += fmt::format("a token takes {:.1f} KiB, a stream of {} tokens {}\n",
                     fit.bytes_per_token() / 1024, fit.context_tokens,
                     size(static_cast<std::uint64_t>(fit.bytes_per_token() * fit.context_tokens)));
  return out + verdict(fit);
}

std::string json_of(const llama::MemoryFit& fit, const std::string& model) {
  json::array devices;
  for (const llama::DeviceFit& device : fit.devices) {
    devices.push_back({{"name", device.name},
                       {"weights_bytes", device.weights + device.adapters},
                       {"streams_bytes", device.streams + device.records},
                       {"step_bytes", device.compute},
                       {"available_bytes", device.available}});
  }
  return json::serialize(json::value{{"model", model},
                                     {"streams", fit.streams},
                                     {"context_tokens", fit.context_tokens},
                                     {"devices", devices},
                                     {"bytes_per_token", fit.bytes_per_token()},
                                     {"fits", fit.fits()},
                                     {"streams_max", fit.streams_max(fit.context_tokens)}}) +
         "\n";
}

int run(Options options) {
  std::string& model = options.worker.model_path;
  if (model.empty()) {
    auto demo = find_demo_model(demo_model_places(binary_directory(), ""));
    if (!demo) return complain(kUsage, demo.error().detail);
    model = *std::move(demo);
  }
  if (options.batch_tokens > 0) options.worker.batch_tokens_max = options.batch_tokens;
  const bool drafts = !options.worker.draft_model.empty();
  options.worker.draft_tokens_max =
      options.speculate_tokens.value_or(drafts ? kSpeculateTokens : 0);
  const auto adapters = parse_adapters(options.adapters);
  if (!adapters) return complain(kUsage, "--adapter: " + adapters.error().detail);
  for (const server::Adapter& adapter : *adapters) {
    options.worker.adapters.push_back(adapter.path);
  }
  llama::LogCapture log;
  const std::uint64_t available =
      options.memory > 0 ? options.memory << 20U : llama::available_memory();
  const auto fit = llama::fit_memory(options.worker, log, available);
  if (!fit) return complain(kUsage, fit.error().detail);
  for (const std::string& warning : fit->warnings) complain(kDone, "warning: " + warning);
  say(stdout, options.as_json ? json_of(*fit, model) : text_of(*fit, model));
  return fit->fits() ? kDone : kFailed;
}

}  // namespace

Command add_fit(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app =
      parent.add_subcommand("fit", "How much memory a model takes, and how many streams fit");
  llama::WorkerOptions& worker = options->worker;
  app->add_option("MODEL", worker.model_path, "GGUF file; without one, the demo model");
  app->add_option("--ctx-size", worker.context_tokens,
                  "Tokens of a stream; 0 = what the model was trained for, at most 4096")
      ->check(CLI::Range(0, 16'777'216))
      ->capture_default_str();
  app->add_option("--parallel", worker.sequences_max,
                  "Streams at the same time; 0 = 64, or as many as fit")
      ->check(CLI::Range(0U, llama::kSequencesMax))
      ->capture_default_str();
  app->add_option("--kv-tokens", worker.shared_tokens,
                  "Tokens that all have room for together; 0 = each has its own")
      ->check(CLI::Range(0, 1'073'741'824))
      ->capture_default_str();
  app->add_option("--kv-type", worker.kv_type, "f16, q8_0 or q4_0")->capture_default_str();
  app->add_option("--gpu-layers", worker.gpu_layers, "Layers to keep on a GPU; -1 = all")
      ->check(CLI::Range(-1, 10'000))
      ->capture_default_str();
  app->add_option("--adapter", options->adapters,
                  "NAME=FILE of a LoRA adapter, as `serve` takes it")
      ->allow_extra_args(false);
  app->add_option("--draft-model", worker.draft_model,
                  "GGUF file of a draft model, as `serve` takes it");
  app->add_option("--batch-tokens", options->batch_tokens,
                  "Tokens that one step computes at most; 0 = the worker's choice")
      ->check(CLI::Range(0, 65'536))
      ->capture_default_str();
  app->add_option("--speculate-tokens", options->speculate_tokens,
                  fmt::format("Tokens that one step guesses at most; without it {} with a draft "
                              "model, else none (`serve` with --speculate ngram: {})",
                              kSpeculateTokens, kSpeculateTokens))
      ->check(CLI::Range(1, 255));
  app->add_option("--memory", options->memory,
                  "MiB that may be taken, in place of what this machine has now")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app->add_flag("--json", options->as_json, "One JSON object");
  app->footer("Exit codes: 0 it fits, 1 it does not, 2 wrong flags or file.");
  return {app, [options] { return run(*options); }};
}

}  // namespace seedance::apps
