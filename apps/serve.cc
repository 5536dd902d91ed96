// seedance serve: checks, then one server until it is told to stop.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/access_files.h"
#include "apps/command.h"
#include "apps/demo_model.h"
#include "apps/files.h"
#include "apps/memory_text.h"
#include "apps/model_digest.h"
#include "apps/reload.h"
#include "apps/server_settings.h"
#include "apps/settings_file.h"
#include "apps/supervise.h"
#include "io/address.h"
#include "io/clock.h"
#include "io/listen_fds.h"
#include "io/socket.h"
#include "llama/log_capture.h"
#include "llama/model_file.h"
#include "scripted/script.h"
#include "server/server.h"
#include "wire/json.h"

namespace seedance::apps {
namespace {

constexpr int kLowestPriority = 19;

struct Options {
  std::string file;
  Flags flags;
  bool as_json = false;
  bool alone = false;   // Without a supervisor.
  int supervisor = -1;  // The descriptor that leads to it, where there is one.
  // That the supervisor was started with.
  std::optional<std::int64_t> port = std::nullopt;
};

// What is known of the model before the server starts.
struct Model {
  std::vector<std::string> files;  // None for a scripted engine.
  std::string digest;              // Empty while it is not known.
  bool is_demo = false;            // Nobody named one.
};

// Fills in the demo model where a model is needed and none is named. Says whether it did.
Result<bool> default_model(config::Settings& settings, const std::string& data_directory) {
  if (!settings.model_path.empty() || settings.engine != "llama") return false;
  auto demo = find_demo_model(demo_model_places(binary_directory(), data_directory));
  if (!demo) return fail(demo.error().code, "model_path: " + demo.error().detail);
  settings.model_path = *std::move(demo);
  return true;
}

// Every part is there, can be read, and is whole; so is every adapter, and it is one of such a
// model; so is a draft model.
Result<std::vector<std::string>> check_model(const server::ServerConfig& config) {
  const auto* model = std::get_if<server::LlamaModel>(&config.models.front().engine);
  if (model == nullptr) return std::vector<std::string>{};
  const llama::LogCapture quiet;
  auto file = llama::inspect_model_file(model->path);
  if (!file) return std::unexpected(file.error());
  for (const server::Adapter& adapter : model->adapters) {
    const auto bytes = llama::inspect_adapter_file(adapter.path, model->path);
    if (!bytes) return std::unexpected(bytes.error());
  }
  if (!model->draft_model.empty()) {
    const auto draft = llama::inspect_model_file(model->draft_model);
    if (!draft) return fail(draft.error().code, "draft_model: " + draft.error().detail);
  }
  return std::move(file->paths);
}

// Tells what each model and adapter is made of, so that streams are continued on nothing else.
Result<void> name_models(server::ServerConfig& config, const std::vector<std::string>& files) {
  server::ModelSpec& model = config.models.front();
  if (const auto* scripted = std::get_if<server::ScriptedModel>(&model.engine)) {
    const auto script = scripted::parse_script(scripted->script);
    if (!script) return std::unexpected(script.error());
    model.digest = scripted::story_of(*script);
    return {};
  }
  auto digest = fingerprint_of(files);
  if (!digest) return std::unexpected(digest.error());
  model.digest = *std::move(digest);
  for (server::Adapter& adapter : std::get<server::LlamaModel>(model.engine).adapters) {
    auto own = fingerprint_of({adapter.path});
    if (!own) return std::unexpected(own.error());
    adapter.digest = *std::move(own);
  }
  return {};
}

void print_ready(const server::ReadyReport& report, Duration checks, const std::string& digest) {
  const server::ReadyReport::Model& model = report.models.front();
  std::string stages = fmt::format("checks {:.1f}", to_ms(checks));
  for (const auto& [name, stage_ms] : model.timeline) {
    stages += fmt::format(", {} {:.1f}", name, stage_ms);
  }
  say(stdout,
      fmt::format(
          "seedance {} serves {} at {} ({} streams of {} tokens), ready after {:.0f} ms: {} ms\n",
          kVersion, model.name, report.url, model.sequences_max, model.context_tokens,
          to_ms(checks + report.since_run), stages));
  if (!digest.empty()) say(stdout, fmt::format("model sha256 {}\n", digest));
  if (!model.memory.empty()) say(stdout, memory_text(model.memory) + "\n");
}

void put_memory(wire::JsonWriter& json, const engine::DeviceMemory& memory) {
  json.begin_object().field("weights_bytes", memory.weights).field("streams_bytes", memory.kv);
  json.field("step_bytes", memory.compute).end_object();
}

void print_ready_json(const server::ReadyReport& report, Duration checks,
                      const std::string& digest) {
  const server::ReadyReport::Model& model = report.models.front();
  std::string out;
  wire::JsonWriter json{out};
  json.begin_object().field("event", "ready").field("version", kVersion).field("url", report.url);
  json.field("model", model.name).field("context_tokens", model.context_tokens);
  json.field("streams_max", model.sequences_max).key("sha256");
  digest.empty() ? json.null() : json.value(digest);
  json.field("total_ms", to_ms(checks + report.since_run)).key("timeline").begin_array();
  json.begin_object().field("stage", "checks").field("ms", to_ms(checks)).end_object();
  for (const auto& [name, stage_ms] : model.timeline) {
    json.begin_object().field("stage", name).field("ms", stage_ms).end_object();
  }
  json.end_array().key("memory").begin_array();
  for (const auto& [device, predicted, taken] : model.memory) {
    json.begin_object().field("device", device).key("predicted");
    put_memory(json, predicted);
    json.key("taken");
    put_memory(json, taken);
    json.end_object();
  }
  json.end_array().end_object();
  out += '\n';
  say(stdout, out);
}

// Reads the whole model once, after the start and behind everything else, so that
// the next start knows its digest.
void digest_model(const std::stop_token& stop, const DigestCache& cache,
                  const std::vector<std::string>& files, bool as_json) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowestPriority);
  const auto digest = cache.compute(files, stop);
  if (!digest) {
    if (digest.error().code != Errc::disconnected) complain(kFailed, digest.error().detail);
    return;
  }
  say(stdout, as_json ? fmt::format("{{\"event\":\"digest\",\"sha256\":\"{}\"}}\n", *digest)
                      : fmt::format("model sha256 {}\n", *digest));
}

// What somebody who looks at the terminal should know, on standard error.
void print_hints(const server::ReadyReport& report, const Model& model,
                 const config::Settings& settings, const auth::Gate& gate, bool on_loopback) {
  if (model.is_demo) {
    complain(kDone,
             fmt::format("no --model given: serving the demo model {}", settings.model_path));
  }
  if (!gate.closed() && !on_loopback) {
    complain(kDone, fmt::format("warning: {} is open to whoever reaches it (see --keys-file)",
                                report.url));
  }
  for (const std::string& warning : access_warnings(settings)) {
    complain(kDone, "warning: " + warning);
  }
}

// What a server is run with.
struct Running {
  const Options& options;
  const config::Settings& loaded;    // As they were read.
  const config::Settings& settings;  // With the model that is served.
  Model& model;
  const DigestCache& cache;
  const auth::Gate& gate;  // As it is at the start.
  bool on_loopback;        // Nobody but this machine reaches it.
  TimePoint began;
};

Result<std::string> apply(server::Server& server, config::Settings settings,
                          const Running& running) {
  settings.model_path = running.settings.model_path;
  auto config = server_config(settings);
  if (!config) return std::unexpected(config.error());
  const std::size_t keys = config->gate->key_count();
  const auto checked = check_exposure(settings, *config->gate, running.on_loopback);
  if (!checked) return std::unexpected(checked.error());
  const auto reloaded = server.reload(*std::move(config));
  if (!reloaded) return std::unexpected(reloaded.error());
  return read_again(settings, keys);
}

int serve(server::Server& server, const Running& running) {
  const Duration checks = io::now() - running.began;
  const auto say = [](const std::string& line) { complain(kFailed, line); };
  const io::Fd supervisor{running.options.supervisor};
  bool was_ready = false;
  Reload reload{
      running.loaded,
      {.load = [&] { return load_settings(running.options.file, running.options.flags); },
       .check = [](const config::Settings& settings) -> Result<void> {
         auto config = server_config(settings);
         if (!config) return std::unexpected(config.error());
         return {};
       },
       .apply = [&](const config::Settings& settings) { return apply(server, settings, running); },
       .say = say,
       .failed = [&] { server.note_failed_reload(); }}};
  std::jthread digesting;
  const auto on_ready = [&](const server::ReadyReport& report) {
    was_ready = true;
    Model& model = running.model;
    const bool as_json = running.options.as_json;
    print_hints(report, model, running.settings, running.gate, running.on_loopback);
    as_json ? print_ready_json(report, checks, model.digest)
            : print_ready(report, checks, model.digest);
    if (supervisor.is_open()) (void)io::send(supervisor, "R");
    if (model.files.empty() || !model.digest.empty()) return;
    digesting = std::jthread{[&, as_json](const std::stop_token& stop) {
      digest_model(stop, running.cache, running.model.files, as_json);
    }};
  };
  const auto served = server.run(on_ready, say, [&] { reload.begin(); });
  if (!served) return complain(was_ready ? kFailed : kUsage, served.error().detail);
  return kDone;
}

// The sockets that the server is to serve, here or in a process of its own.
Result<io::ListenFds> take_sockets(const Options& options, const server::ServerConfig& config) {
  auto out = io::take_listen_fds();
  if (!out || !out->sockets.empty() || options.alone || options.supervisor >= 0) return out;
  auto group =
      io::Listener::open_group(server::listen_options(config), server::listener_count(config));
  if (!group) return std::unexpected(group.error());
  for (io::Listener& listener : *group) out->sockets.push_back(std::move(listener).take_fd());
  return out;
}

Result<std::vector<io::Listener>> adopt(std::vector<io::Fd> sockets,
                                        const server::ServerConfig& config) {
  std::vector<io::Listener> out;
  for (io::Fd& socket : sockets) {
    auto listener = io::Listener::adopt(std::move(socket), server::listen_options(config));
    if (!listener) return fail(listener.error().code, "LISTEN_FDS: " + listener.error().detail);
    out.push_back(*std::move(listener));
  }
  return out;
}

bool are_on_loopback(const std::vector<io::Fd>& sockets) {
  return std::ranges::all_of(sockets, [](const io::Fd& one) { return io::is_on_loopback(one); });
}

// Once, however often the server is started again.
void warn_of_variables() {
  for (const std::string& unknown : config::unknown_variables(environment())) {
    complain(kDone, "warning: " + unknown);
  }
}

int run(const Options& options) {
  const TimePoint began = io::now();
  std::signal(SIGPIPE, SIG_IGN);  // Whoever read our output may go before us.
  std::signal(SIGCHLD, SIG_DFL);  // Ignored, as we may find it, children end unnoticed.
  auto loaded = load_settings(options.file, options.flags);
  if (!loaded) return complain(kUsage, loaded.error().detail);
  if (options.supervisor < 0) warn_of_variables();
  // The sockets are those of the service's start; so is the journal that goes with them.
  if (options.port) loaded->websocket_port = *options.port;
  config::Settings settings = *loaded;
  const std::string directory = data_directory(settings.data_dir);
  const auto is_demo = default_model(settings, directory);
  if (!is_demo) return complain(kUsage, is_demo.error().detail);
  auto config = server_config(settings);
  if (!config) return complain(kUsage, config.error().detail);
  // Taken before the data directory is made, so that a server in vain leaves nothing behind.
  auto sockets = take_sockets(options, *config);
  if (!sockets) return complain(kUsage, sockets.error().detail);
  const std::shared_ptr<const auth::Gate> gate = config->gate;
  bool on_loopback = are_on_loopback(sockets->sockets);
  if (!options.alone && options.supervisor < 0) return supervise(*sockets, config->port);
  auto listeners = adopt(std::move(sockets->sockets), *config);
  if (!listeners) return complain(kUsage, listeners.error().detail);
  auto files = check_model(*config);
  if (!files) return complain(kUsage, files.error().detail);
  if (auto named = name_models(*config, *files); !named) {
    return complain(kUsage, named.error().detail);
  }
  const auto server = server::Server::open(*std::move(config), *std::move(listeners));
  if (!server) return complain(kUsage, server.error().detail);
  on_loopback = on_loopback && is_loopback_url((*server)->url());  // It may have opened its own.
  if (const auto safe = check_exposure(settings, *gate, on_loopback); !safe) {
    return complain(kUsage, safe.error().detail);
  }
  if (const auto made = make_private_directory(directory); !made) {
    return complain(kUsage, "data_dir: " + made.error().detail);
  }
  const DigestCache cache{directory + "/digests"};
  Model model{.files = *std::move(files), .digest = {}, .is_demo = *is_demo};
  model.digest = cache.find(model.files);
  return serve(**server, {.options = options,
                          .loaded = *loaded,
                          .settings = settings,
                          .model = model,
                          .cache = cache,
                          .gate = *gate,
                          .on_loopback = on_loopback,
                          .began = began});
}

std::string type_of(const config::Key& key) {
  if (std::holds_alternative<std::int64_t config::Settings::*>(key.field)) return "N";
  return std::holds_alternative<bool config::Settings::*>(key.field) ? "BOOL" : "TEXT";
}

std::string help_of(const config::Key& key) {
  std::string out = fmt::format("{}", key.help);
  if (std::holds_alternative<std::int64_t config::Settings::*>(key.field)) {
    out += fmt::format(" [{} to {}]", key.least, key.most);
  }
  const std::string value = config::text_of({}, key);
  if (value != "\"\"" && value != "[]") out += fmt::format(" (default {})", value);
  return out;
}

}  // namespace

Command add_serve(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("serve", "Serve a model over WebSocket and HTTP");
  app->add_option("--config", options->file, "Settings file; else seedance.yaml, if there is one");
  app->add_flag("--json", options->as_json, "Say when it is ready as one JSON object");
  app->add_flag("--no-supervisor", options->alone,
                "Serve in this process: nobody starts it again when it fails");
  app->add_option(kSupervisedFlag, options->supervisor)->group("");
  app->add_option(kSupervisedPortFlag, options->port)->group("");
  for (const config::Key& key : config::keys()) {
    const bool is_list =
        std::holds_alternative<std::vector<std::string> config::Settings::*>(key.field);
    const std::string flag{key.flag};
    CLI::Option* option = app->add_option(flag, options->flags[flag], help_of(key));
    option->group(std::string{key.group})->type_name(type_of(key));
    if (!is_list) option->expected(is_switch(key.flag) ? 0 : 1, 1);
    option->allow_extra_args(false);  // Each time it is given, it takes one value.
  }
  app->footer(
      "Without --model it serves the demo model that comes with it, as demo@1.\n\n"
      "Examples:\n"
      "  seedance serve\n"
      "  seedance serve --model model.gguf\n"
      "  seedance serve --model model.gguf --adapter law=law.gguf --adapter tale=tale.gguf\n"
      "  seedance serve --model big-00001-of-00003.gguf --gpu-layers -1 --parallel 16\n"
      "  seedance serve --config seedance.yaml --host 0.0.0.0 --keys-file keys\n"
      "  seedance serve --engine scripted:rate=50      (no model: for client developers)\n"
      "Settings come from flags, then SEEDANCE_* variables, then the file: see `seedance init`.");
  return {app, [options] { return run(*options); }};
}

}  // namespace seedance::apps
