#include "apps/server_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "apps/access_files.h"
#include "apps/adapters.h"
#include "apps/fallbacks.h"
#include "apps/files.h"
#include "apps/model_name.h"
#include "auth/origins.h"
#include "scripted/script.h"

namespace seedance::apps {
namespace {

constexpr std::string_view kScripted = "scripted";
constexpr auto kKvTypes = std::to_array<std::string_view>({"f16", "q8_0", "q4_0"});
constexpr auto kSpeculate = std::to_array<std::string_view>({"off", "ngram"});

Duration ms(std::int64_t count) {
  return std::chrono::milliseconds{count};
}

// The script of "scripted" or "scripted:SCRIPT"; nothing for another engine.
std::optional<std::string_view> script_of(std::string_view engine) {
  if (!engine.starts_with(kScripted)) return std::nullopt;
  engine.remove_prefix(kScripted.size());
  if (engine.empty()) return engine;
  if (!engine.starts_with(':')) return std::nullopt;
  return engine.substr(1);
}

// What the script leaves open, the settings say where they say it.
Result<std::string> script_with(const config::Settings& settings, std::string_view script) {
  const auto named = [](std::string_view key, const Error& error) {
    return fail(Errc::invalid, fmt::format("{}: {}", key, error.detail));
  };
  if (const auto own = scripted::parse_script(script); !own) return named("engine", own.error());
  std::string out{script};
  for (const auto& [setting, key, value] :
       {std::tuple{"ctx_size", "context=", settings.ctx_size},
        std::tuple{"max_concurrent_streams", "sequences=", settings.max_concurrent_streams}}) {
    const bool open = !script.starts_with(key) && !script.contains(fmt::format(",{}", key));
    if (!open || value == 0) continue;
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", key, value);
    if (const auto whole = scripted::parse_script(out); !whole) {
      return named(setting, whole.error());
    }
  }
  return out;
}

// Ranges were checked when the settings were loaded: every number fits.
server::LlamaModel llama_model(const config::Settings& settings) {
  const bool ngrams = settings.speculate != kSpeculate.front();
  const bool guesses = ngrams || !settings.draft_model.empty();
  return {.path = settings.model_path,
          .context_tokens = static_cast<std::uint32_t>(settings.ctx_size),
          .sequences_max = static_cast<std::uint32_t>(settings.max_concurrent_streams),
          .threads = static_cast<std::int32_t>(settings.threads),
          .gpu_layers = static_cast<std::int32_t>(settings.gpu_layers),
          .batch_tokens_max = static_cast<std::uint32_t>(settings.batch_tokens),
          .step_target_ms = static_cast<std::uint32_t>(settings.step_target_ms),
          .draft_tokens_max = guesses ? static_cast<std::uint32_t>(settings.speculate_tokens) : 0,
          .draft_ngrams = ngrams,
          .draft_model = settings.draft_model,
          .step_max_ms = static_cast<std::uint32_t>(settings.step_max_ms),
          .prefill_pause_ms = static_cast<std::uint32_t>(settings.prefill_pause_ms),
          .kv_tokens = static_cast<std::uint32_t>(settings.kv_tokens),
          .kv_type = settings.kv_type,
          .park_memory_mb = static_cast<std::uint32_t>(settings.park_memory),
          .reuse_min = static_cast<std::uint32_t>(settings.prefix_reuse_min),
          .load_timeout = ms(settings.load_timeout_ms),
          .step_timeout = ms(settings.step_timeout_ms),
          .prepare_timeout = ms(settings.prepare_timeout_ms),
          .grammar_bytes_max = static_cast<std::uint64_t>(settings.max_grammar_memory_bytes),
          .schema_ms = static_cast<std::uint32_t>(settings.max_schema_ms)};
}

Result<server::ModelSpec> model_spec(const config::Settings& settings) {
  if (auto named = check_model_name(settings.model_name); !named) {
    return fail(Errc::invalid, "model_name: " + named.error().detail);
  }
  const auto script = script_of(settings.engine);
  if (!script) {
    if (settings.engine != "llama") {
      return fail(Errc::invalid, fmt::format("engine: \"{}\" is unknown; give llama or scripted",
                                             settings.engine));
    }
    if (std::ranges::find(kKvTypes, settings.kv_type) == kKvTypes.end()) {
      return fail(Errc::invalid, fmt::format("kv_type: \"{}\" is unknown; give f16, q8_0 or q4_0",
                                             settings.kv_type));
    }
    if (std::ranges::find(kSpeculate, settings.speculate) == kSpeculate.end()) {
      return fail(Errc::invalid, fmt::format("speculate: \"{}\" is unknown; give off or ngram",
                                             settings.speculate));
    }
    server::LlamaModel model = llama_model(settings);
    auto fallbacks = parse_fallbacks(settings.fallbacks, model);
    if (!fallbacks) return std::unexpected(fallbacks.error());
    model.fallbacks = *std::move(fallbacks);
    auto adapters = parse_adapters(settings.adapters);
    if (!adapters) return fail(Errc::invalid, "adapters: " + adapters.error().detail);
    model.adapters = *std::move(adapters);
    return server::ModelSpec{.name = settings.model_name.empty()
                                         ? model_name_of(settings.model_path)
                                         : settings.model_name,
                             .engine = std::move(model)};
  }
  if (!settings.model_path.empty()) {
    return fail(Errc::invalid, "model_path: a scripted engine reads no model; leave it out");
  }
  if (!settings.adapters.empty()) {
    return fail(Errc::invalid, "adapters: a scripted engine has none; leave them out");
  }
  if (!settings.draft_model.empty()) {
    return fail(Errc::invalid, "draft_model: a scripted engine has none; leave it out");
  }
  auto whole = script_with(settings, *script);
  if (!whole) return std::unexpected(whole.error());
  return server::ModelSpec{
      .name = settings.model_name.empty() ? std::string{kScripted} : settings.model_name,
      .engine = server::ScriptedModel{*std::move(whole)}};
}

// Servers on several ports can share a data directory.
std::string journal_directory(const config::Settings& settings) {
  return fmt::format("{}/journal/{}", data_directory(settings.data_dir), settings.websocket_port);
}

Result<std::optional<server::JournalSpec>> journal_spec(const config::Settings& settings) {
  if (settings.journal == "none") return std::optional<server::JournalSpec>{};
  if (settings.journal != "file") {
    return fail(Errc::invalid,
                fmt::format("journal: \"{}\" is unknown; give file or none", settings.journal));
  }
  const auto sync = store::parse_sync(settings.journal_sync);
  if (!sync) {
    return fail(Errc::invalid,
                fmt::format("journal_sync: \"{}\" is unknown; give none, interval or always",
                            settings.journal_sync));
  }
  return server::JournalSpec{
      .files = {.directory = journal_directory(settings),
                .sync = *sync,
                .sync_interval = ms(settings.journal_sync_interval_ms)},
      .limits = {.bytes_max = static_cast<std::uint64_t>(settings.journal_max_bytes),
                 .batch_bytes_extra = *sync == store::Sync::none ? 0 : stream::kSyncRecordBytes}};
}

Result<std::optional<io::TlsOptions>> tls_options(const config::Settings& settings) {
  if (settings.tls_cert.empty()) {
    if (!settings.tls_key.empty() || !settings.tls_client_ca.empty() ||
        settings.tls_client_required) {
      return fail(
          Errc::invalid,
          "tls_key, tls_client_ca and tls_client_required mean something with tls_cert only");
    }
    return std::optional<io::TlsOptions>{};
  }
  if (settings.tls_key.empty()) return fail(Errc::invalid, "tls_cert needs tls_key beside it");
  if (settings.tls_client_required && settings.tls_client_ca.empty()) {
    return fail(Errc::invalid, "tls_client_required needs tls_client_ca");
  }
  return io::TlsOptions{.certificate_file = settings.tls_cert,
                        .key_file = settings.tls_key,
                        .client_ca_file = settings.tls_client_ca,
                        .client_required = settings.tls_client_required};
}

// What is allowed in vain would be missed only when somebody is refused.
Result<void> check_allowed(const config::Settings& settings) {
  for (const std::string& host : settings.allowed_hosts) {
    const auto checked = auth::check_allowed_host(host);
    if (!checked) return fail(Errc::invalid, "allowed_hosts: " + checked.error().detail);
  }
  for (const std::string& origin : settings.allowed_origins) {
    const auto checked = auth::check_allowed_origin(origin);
    if (!checked) return fail(Errc::invalid, "allowed_origins: " + checked.error().detail);
  }
  return {};
}

void set_connection_limits(const config::Settings& settings, server::ServerLimits& out) {
  out.connections_max = static_cast<std::uint32_t>(settings.max_connections);
  out.connections_per_address_max =
      static_cast<std::uint32_t>(settings.max_connections_per_address);
  out.connections_per_tenant_max = static_cast<std::uint32_t>(settings.max_connections_per_tenant);
  out.accepts_per_second_max = static_cast<std::uint32_t>(settings.max_accepts_per_second);
  out.websocket.controls_max = static_cast<std::uint32_t>(settings.max_pings_per_second);
  out.handshake_timeout = ms(settings.handshake_timeout_ms);
  out.keep_alive_timeout = ms(settings.keep_alive_timeout_ms);
  out.idle_timeout = ms(settings.idle_timeout_ms);
  out.stall_timeout = ms(settings.stall_timeout_ms);
}

// How a request may come.
void set_request_limits(const config::Settings& settings, server::ServerLimits& out) {
  const auto message_bytes = static_cast<std::size_t>(settings.max_message_bytes);
  out.http.body_bytes_max = message_bytes;
  out.http.target_bytes_max = static_cast<std::size_t>(settings.max_target_bytes);
  out.http.head_bytes_max = static_cast<std::size_t>(settings.max_header_bytes);
  out.http.headers_max = static_cast<std::size_t>(settings.max_headers);
  out.header_timeout = ms(settings.header_timeout_ms);
  out.body_timeout = ms(settings.message_timeout_ms);
  out.websocket.message_timeout = ms(settings.message_timeout_ms);
  out.websocket.message_bytes_max = message_bytes;
  out.websocket.fragments_max = static_cast<std::uint32_t>(settings.max_message_fragments);
}

void set_stream_limits(const config::Settings& settings, server::ServerConfig& out) {
  out.limits.streams_per_connection_max =
      static_cast<std::uint32_t>(settings.max_streams_per_connection);
  out.limits.waiting_per_connection_max =
      static_cast<std::uint32_t>(settings.max_waiting_per_connection);
  out.limits.waiting_bytes_per_connection_max =
      static_cast<std::uint64_t>(settings.max_waiting_bytes_per_connection);
  out.limits.resumes_per_connection_max =
      static_cast<std::uint32_t>(settings.max_resumes_per_connection);
  out.core.streams_queued_max = static_cast<std::uint32_t>(settings.max_queued_streams);
  out.core.prepares_max = settings.max_preparing_streams == 0
                              ? out.core.streams_queued_max
                              : static_cast<std::uint32_t>(settings.max_preparing_streams);
  out.core.prepare_bytes_max = static_cast<std::uint64_t>(settings.max_preparing_bytes);
  out.core.shift_tokens_max = static_cast<std::uint32_t>(settings.max_shift_tokens);
  out.core.grammar_bytes_max = static_cast<std::uint64_t>(settings.max_grammar_memory_bytes);
  out.core.format_bytes_max = static_cast<std::uint64_t>(settings.max_grammar_bytes);
  out.core.share_prefixes = settings.share_prefixes;
  out.core.streams_per_tenant_max = static_cast<std::uint32_t>(settings.max_streams_per_tenant);
}

}  // namespace

Result<server::ServerConfig> server_config(const config::Settings& settings) {
  auto model = model_spec(settings);
  if (!model) return std::unexpected(model.error());
  server::ServerConfig out;
  out.models.push_back(*std::move(model));
  out.host = settings.host;
  out.port = static_cast<std::uint16_t>(settings.websocket_port);
  out.edges = static_cast<std::uint32_t>(settings.edge_threads);
  auto journal = journal_spec(settings);
  if (!journal) return std::unexpected(journal.error());
  out.journal = *std::move(journal);
  auto tls = tls_options(settings);
  if (!tls) return std::unexpected(tls.error());
  out.tls = *std::move(tls);
  auto gate = make_gate(settings);
  if (!gate) return std::unexpected(gate.error());
  out.gate = *std::move(gate);
  out.tickets = {.tickets_max = static_cast<std::size_t>(settings.max_tickets),
                 .tenant_max = static_cast<std::size_t>(settings.max_tickets_per_tenant),
                 .ttl = ms(settings.ticket_ttl_ms)};
  out.audit_log = settings.audit_log;
  if (auto allowed = check_allowed(settings); !allowed) return std::unexpected(allowed.error());
  out.allowed_hosts = settings.allowed_hosts;
  out.allowed_origins = settings.allowed_origins;
  out.streaming = settings.enable_streaming;
  out.merge = ms(settings.buffer_timeout_ms);
  out.drain_timeout = ms(settings.drain_timeout_ms);
  if (settings.websocket_deflate) {
    out.deflate_level = static_cast<int>(settings.websocket_deflate_level);
  }
  out.debug_echo = settings.debug_echo;
  set_connection_limits(settings, out.limits);
  set_request_limits(settings, out.limits);
  set_stream_limits(settings, out);
  out.core.queue_wait_max = ms(settings.queue_timeout_ms);
  out.core.priority_ageing = ms(settings.priority_ageing_ms);
  out.core.detach_ttl = ms(settings.detach_ttl_ms);
  out.core.orphan_ttl = ms(settings.orphan_ttl_ms);
  out.core.terminal_ttl = ms(settings.terminal_ttl_ms);
  out.core.recovery_wait_max = ms(settings.recovery_timeout_ms);
  out.core.streams_kept_max = static_cast<std::uint32_t>(settings.max_kept_streams);
  out.core.kept_bytes_max = static_cast<std::uint64_t>(settings.max_kept_bytes);
  return out;
}

std::string read_again(const config::Settings& settings, std::size_t keys) {
  std::string out;
  if (!settings.keys_file.empty()) out = fmt::format("keys: {} in all", keys);
  std::string files;
  for (const std::string* file : {&settings.tls_cert, &settings.tls_key, &settings.tls_client_ca}) {
    if (!file->empty()) files += (files.empty() ? "" : ", ") + *file;
  }
  if (files.empty()) return out;
  return fmt::format("{}{}read again: {}", out, out.empty() ? "" : "; ", files);
}

bool is_loopback_url(std::string_view url) {
  const std::string_view host = url.substr(std::min(url.find("://") + 3, url.size()));
  return host.starts_with("127.") || host.starts_with("[::1]");
}

}  // namespace seedance::apps
