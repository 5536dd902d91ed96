// seedance bench: puts a server under load and says what its clients see.
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/chat_client.h"
#include "apps/command.h"
#include "apps/files.h"
#include "apps/tls_flags.h"
#include "io/tls_client.h"
#include "load/duration.h"
#include "load/report.h"
#include "load/runner.h"

namespace seedance::apps {
namespace {

constexpr std::size_t kPromptsBytesMax = std::size_t{256} << 20;
constexpr std::uint32_t kPromptTokensMax = 1'000'000;
constexpr std::uint32_t kTokenIdMax = 1'000'000;
constexpr std::uint64_t kOpenLoopConnections = 16;
constexpr const char* kDurationDefault = "10s";

// As they were given; what is not said is empty.
struct Options {
  std::string url = "http://127.0.0.1:8080";
  std::string api = "native";
  std::string api_key;
  io::TlsClientOptions tls;
  std::string model;
  std::uint64_t concurrency = 8;
  double rate = 0;
  std::uint64_t in_flight_max = 1024;
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::string duration;
  std::string warmup;
  std::string prompts;
  std::string prompt_tokens = "32";
  std::uint32_t prefix_tokens = 0;
  std::string prompt_ids;
  std::uint32_t max_tokens = 128;
  std::string extra;
  std::uint64_t seed = 1;
  std::string slo;
  std::string timeout = "10m";
  bool close = false;
  bool as_json = false;
  bool quiet = false;
};

std::unexpected<Error> wrong(std::string_view flag, const Error& error) {
  return fail(Errc::invalid, fmt::format("{}: {}", flag, error.detail));
}

loadgen::Api api_named(std::string_view text) {
  using loadgen::Api;
  for (const Api api : {Api::native, Api::binary, Api::chat}) {
    if (text == name(api)) return api;
  }
  return Api::completions;
}

Result<loadgen::Target> target_of(const Options& options, loadgen::Api api) {
  const bool websocket = is_websocket(api);
  const auto url = parse_url(options.url, websocket ? kNativePath : "/v1");
  if (!url) return wrong("--url", url.error());
  if (auto checked = check_tls_flags(*url, options.tls); !checked) {
    return std::unexpected(checked.error());
  }
  if (url->tls) {
    if (auto rules = io::TlsClient::open(options.tls); !rules) {
      return std::unexpected(rules.error());
    }
  }
  loadgen::Target target{.host = url->host,
                         .path = url->path,
                         .api_key = options.api_key.substr(0, options.api_key.find(',')),
                         .api = api,
                         .keep_alive = !options.close};
  if (url->tls) target.tls = options.tls;
  const std::string& port = url->port;
  std::from_chars(port.data(), port.data() + port.size(), target.port);
  if (target.port == 0) {
    return wrong("--url", {Errc::invalid, fmt::format("{} is no port", port)});
  }
  if (!websocket) {
    while (target.path.ends_with('/')) target.path.pop_back();
    target.path += api == loadgen::Api::chat ? "/chat/completions" : "/completions";
  }
  return target;
}

// "20": so many requests; "5s": so much time.
Result<loadgen::Warmup> warmup_of(const std::string& text) {
  loadgen::Warmup warmup;
  if (text.empty()) return warmup;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, warmup.requests);
  if (error == std::errc{} && rest == end) return warmup;
  const auto time = loadgen::parse_duration(text);
  if (!time) {
    return wrong("--warmup", {Errc::invalid, fmt::format("'{}' is neither a number of requests "
                                                         "nor a time as in 5s",
                                                         text)});
  }
  return loadgen::Warmup{.time = *time};
}

Result<loadgen::Shape> shape_of(const Options& options) {
  loadgen::Shape shape{.concurrency = options.concurrency,
                       .rate = options.rate,
                       .in_flight_max = options.in_flight_max,
                       .requests = options.requests};
  if (options.requests == 0 || !options.duration.empty()) {
    const auto duration =
        loadgen::parse_duration(options.duration.empty() ? kDurationDefault : options.duration);
    if (!duration) return wrong("--duration", duration.error());
    shape.duration = *duration;
  }
  const auto warmup = warmup_of(options.warmup);
  if (!warmup) return std::unexpected(warmup.error());
  shape.warmup = *warmup;
  const bool all = shape.requests > 0 && warmup->requests >= shape.requests;
  if (all || (shape.duration > Duration{} && warmup->time >= shape.duration)) {
    return wrong("--warmup",
                 {Errc::invalid, fmt::format("{} leaves nothing to be measured", options.warmup)});
  }
  return shape;
}

Result<loadgen::RunOptions> run_options(const Options& options) {
  loadgen::RunOptions run{.seed = options.seed};
  auto target = target_of(options, api_named(options.api));
  if (!target) return std::unexpected(target.error());
  run.target = *std::move(target);
  const auto shape = shape_of(options);
  if (!shape) return std::unexpected(shape.error());
  run.shape = *shape;
  const auto timeout = loadgen::parse_duration(options.timeout);
  if (!timeout) return wrong("--timeout", timeout.error());
  run.timeout = *timeout;
  if (!options.slo.empty()) {
    const auto slo = loadgen::parse_slo(options.slo);
    if (!slo) return wrong("--slo", slo.error());
    run.slo = *slo;
  }
  if (options.connections > 0 && !is_websocket(run.target.api)) {
    return wrong("--connections",
                 {Errc::invalid, "only streams over WebSocket share connections (--api native)"});
  }
  run.connections = options.connections > 0 ? options.connections
                    : run.shape.open_loop() ? kOpenLoopConnections
                                            : options.concurrency;
  return run;
}

Result<loadgen::Prompts> prompts_of(const Options& options, loadgen::Api api) {
  if (!options.prompts.empty()) {
    const auto text = read_file(options.prompts, kPromptsBytesMax);
    if (!text) return wrong("--prompts", text.error());
    auto prompts = loadgen::Prompts::read(*text, api);
    if (!prompts) return wrong("--prompts " + options.prompts, prompts.error());
    return prompts;
  }
  loadgen::SyntheticPrompts synthetic{.seed = options.seed};
  const auto tokens = loadgen::parse_range(options.prompt_tokens, kPromptTokensMax);
  if (!tokens) return wrong("--prompt-tokens", tokens.error());
  synthetic.tokens = *tokens;
  synthetic.shared = options.prefix_tokens;
  if (!options.prompt_ids.empty()) {
    const auto ids = loadgen::parse_range(options.prompt_ids, kTokenIdMax);
    if (!ids) return wrong("--prompt-ids", ids.error());
    synthetic.ids = *ids;
  }
  auto prompts = loadgen::Prompts::make(synthetic, api);
  if (!prompts) return wrong("--prompt-ids", prompts.error());
  return prompts;
}

Result<loadgen::Requests> requests_of(const Options& options, loadgen::Api api) {
  auto prompts = prompts_of(options, api);
  if (!prompts) return std::unexpected(prompts.error());
  auto requests = loadgen::Requests::make({.api = api,
                                           .model = options.model,
                                           .max_tokens = options.max_tokens,
                                           .extra = options.extra},
                                          *std::move(prompts));
  if (!requests) return wrong("--extra", requests.error());
  return requests;
}

int run(const Options& options) {
  const auto run_with = run_options(options);
  if (!run_with) return complain(kUsage, run_with.error().detail);
  const auto requests = requests_of(options, run_with->target.api);
  if (!requests) return complain(kUsage, requests.error().detail);

  const bool shows = !options.quiet && ::isatty(STDERR_FILENO) != 0;
  loadgen::ProgressLine line;
  std::function<void(const loadgen::Progress&, const loadgen::Statistics&)> progress;
  if (shows) {
    progress = [&line](const loadgen::Progress& now, const loadgen::Statistics& statistics) {
      fmt::print(stderr, "\r\x1b[K{}", line.next(now, statistics));
    };
  }
  const auto result = loadgen::run(*run_with, *requests, progress);
  if (!result) return complain(kFailed, fmt::format("{}: {}", options.url, result.error().detail));
  if (shows) fmt::print(stderr, "\r\x1b[K");
  const loadgen::ReportHead head{options.url, options.model, options.slo};
  fmt::print("{}", options.as_json ? json_report(head, *run_with, *result) + "\n"
                                   : text_report(head, *run_with, *result));
  if (result->interrupted) return kInterrupted;
  const auto& statistics = result->statistics;
  return statistics.measured().succeeded + statistics.warmup().succeeded > 0 ? kDone : kFailed;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("--url", options.url,
                 "The server, https:// for TLS; a path replaces /ws/inference or /v1")
      ->capture_default_str();
  app.add_option("--api", options.api, "native and binary are WebSocket, the others OpenAI's SSE")
      ->check(CLI::IsMember({"native", "binary", "chat", "completions"}))
      ->capture_default_str();
  app.add_option("--api-key", options.api_key, "Key for the server")->envname("SEEDANCE_API_KEYS");
  add_tls_flags(app, options.tls);
  app.add_option("--model", options.model, "Model to ask for, where the server wants it named");
  auto* const concurrency =
      app.add_option("--concurrency", options.concurrency, "Closed loop: requests in flight")
          ->check(CLI::Range(1, 100'000))
          ->capture_default_str();
  app.add_option("--rate", options.rate, "Open loop instead: requests a second, at random times")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(concurrency);
  app.add_option("--max-in-flight", options.in_flight_max, "Open loop: more wait for their turn")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--connections", options.connections,
                 "WebSockets that the streams share; as many as --concurrency, or 16")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--requests", options.requests, "End after so many")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--duration", options.duration,
                 "End after such a time, 10s if nothing else ends it");
  app.add_option("--warmup", options.warmup, "Leave out so many requests, or such a time");
  auto* const tokens = app.add_option("--prompt-tokens", options.prompt_tokens,
                                      "Made-up prompts: about N tokens, or from FIRST:LAST")
                           ->capture_default_str();
  auto* const prefix =
      app.add_option("--prefix-tokens", options.prefix_tokens,
                     "Before these as many more, the same in all prompts, as a system prompt is")
          ->check(CLI::Range(0U, kPromptTokensMax));
  auto* const ids = app.add_option("--prompt-ids", options.prompt_ids,
                                   "Make them of token ids FIRST:LAST, exactly as long");
  app.add_option("--prompts", options.prompts,
                 "File with a prompt in each line, as text or JSON, instead")
      ->excludes(tokens)
      ->excludes(prefix)
      ->excludes(ids);
  app.add_option("--max-tokens", options.max_tokens, "Of each answer; 0 = not said")
      ->check(CLI::Range(0, std::numeric_limits<std::int32_t>::max()))  // As servers take it.
      ->capture_default_str();
  app.add_option("--extra", options.extra, "JSON object, merged into each request");
  app.add_option("--seed", options.seed, "Of made-up prompts and arrival times")
      ->capture_default_str();
  app.add_option("--slo", options.slo, "What is good: ttft=300ms,itl=50ms,tpot=40ms,e2e=10s");
  app.add_option("--timeout", options.timeout, "A request that takes longer has failed")
      ->capture_default_str();
  app.add_flag("--no-keep-alive", options.close, "HTTP: a connection for each request");
  app.add_flag("--json", options.as_json, "Print one JSON object");
  app.add_flag("--quiet", options.quiet, "Show nothing while it runs");
}

}  // namespace

Command add_bench(CLI::App& parent) {
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  CLI::App* app = parent.add_subcommand("bench", "Put a server under load and measure it");
  add_flags(*app, *options);
  app->footer(
      "Examples:\n"
      "  seedance bench --concurrency 32 --duration 30s --warmup 5s\n"
      "  seedance bench --rate 20 --duration 1m --slo ttft=300ms,itl=50ms\n"
      "  seedance bench --api chat --url http://127.0.0.1:8000 --model llama --json\n\n"
      "Exit codes: 0 it ran, 1 nothing succeeded or there is no server, 2 wrong flags,\n"
      "130 interrupted (the report is there). docs/benchmarking.md defines the figures.");
  return {app, [options] { return run(*options); }};
}

}  // namespace seedance::apps
