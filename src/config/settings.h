// What a person can set: plain values, and the table of keys that everything
// else about them is made from (parsing, ranges, flags, help, the commented file).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace seedance::config {

struct Settings {
  std::string model_path;
  std::string model_name;
  std::vector<std::string> adapters;
  std::string engine = "llama";
  std::int64_t ctx_size = 0;
  std::int64_t max_concurrent_streams = 0;
  std::int64_t threads = 0;
  std::int64_t gpu_layers = 0;
  std::int64_t batch_tokens = 0;
  std::int64_t step_target_ms = 80;
  std::string speculate = "off";
  std::int64_t speculate_tokens = 31;
  std::string draft_model;
  std::int64_t step_max_ms = 500;
  std::int64_t prefill_pause_ms = 4'000;
  std::int64_t kv_tokens = 0;
  std::string kv_type = "f16";
  std::int64_t park_memory = 256;
  std::int64_t prefix_reuse_min = 16;
  bool share_prefixes = false;
  std::vector<std::string> fallbacks = {"auto"};
  std::int64_t step_timeout_ms = 30'000;
  std::int64_t load_timeout_ms = 300'000;
  std::int64_t prepare_timeout_ms = 30'000;

  std::string host = "127.0.0.1";
  std::int64_t websocket_port = 8080;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  bool tls_client_required = false;
  std::vector<std::string> api_keys;
  std::string keys_file;
  std::string jwt_secret_file;
  std::string jwt_public_key_file;
  std::string jwt_audience;
  std::string jwt_issuer;
  std::int64_t ticket_ttl_ms = 60'000;
  bool insecure = false;
  std::string audit_log;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::string data_dir;

  std::string journal = "file";
  std::string journal_sync = "none";
  std::int64_t journal_sync_interval_ms = 100;
  std::int64_t journal_max_bytes = std::int64_t{1} << 30;

  bool enable_streaming = true;
  bool websocket_deflate = false;
  std::int64_t websocket_deflate_level = 1;
  bool debug_echo = false;
  std::int64_t buffer_timeout_ms = 0;

  std::int64_t edge_threads = 0;
  std::int64_t max_connections = 65536;
  std::int64_t max_connections_per_address = 0;
  std::int64_t max_connections_per_tenant = 0;
  std::int64_t max_accepts_per_second = 0;
  std::int64_t max_streams_per_connection = 16;
  std::int64_t max_waiting_per_connection = 256;
  std::int64_t max_waiting_bytes_per_connection = 1 << 20;
  std::int64_t max_resumes_per_connection = 256;
  std::int64_t max_streams_per_tenant = 0;
  std::int64_t max_message_bytes = 1 << 20;
  std::int64_t max_message_fragments = 1024;
  std::int64_t max_target_bytes = 8192;
  std::int64_t max_header_bytes = 32'768;
  std::int64_t max_headers = 100;
  std::int64_t max_pings_per_second = 100;
  std::int64_t max_tickets = 10'000;
  std::int64_t max_tickets_per_tenant = 0;
  std::int64_t max_queued_streams = 1024;
  std::int64_t max_preparing_streams = 0;
  std::int64_t max_preparing_bytes = 64 << 20;
  std::int64_t max_grammar_bytes = 64 << 10;
  std::int64_t max_grammar_memory_bytes = 256 << 20;
  std::int64_t max_schema_ms = 200;
  std::int64_t queue_timeout_ms = 60'000;
  std::int64_t priority_ageing_ms = 10'000;
  std::int64_t detach_ttl_ms = 300'000;
  std::int64_t orphan_ttl_ms = 10'000;
  std::int64_t terminal_ttl_ms = 600'000;
  std::int64_t max_kept_streams = 100'000;
  std::int64_t max_kept_bytes = std::int64_t{1} << 30;
  std::int64_t recovery_timeout_ms = 300'000;
  std::int64_t handshake_timeout_ms = 10'000;
  std::int64_t header_timeout_ms = 10'000;
  std::int64_t message_timeout_ms = 60'000;
  std::int64_t keep_alive_timeout_ms = 75'000;
  std::int64_t idle_timeout_ms = 0;
  std::int64_t stall_timeout_ms = 60'000;
  std::int64_t drain_timeout_ms = 5'000;
  std::int64_t max_shift_tokens = 8192;

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Lists are written as a YAML list, with commas in the environment, and by
// repeating the flag.
using Field = std::variant<std::string Settings::*, bool Settings::*, std::int64_t Settings::*,
                           std::vector<std::string> Settings::*>;

struct Key {
  std::string_view name;   // In the file; in the environment SEEDANCE_ and this in capitals.
  std::string_view flag;   // Of `seedance serve`, as CLI11 takes it.
  std::string_view group;  // Heading in help and file.
  std::string_view help;   // One sentence without its full stop.
  Field field;
  std::int64_t least = 0;  // Of a number.
  std::int64_t most = 0;
  bool secret = false;  // Its value appears in no message.
  bool reload = false;  // A running server takes it over on SIGHUP; else it needs a restart.
};

// In the order in which a person reads them.
std::span<const Key> keys();

// The value of one key as the file writes it: `8080`, `"text"`, `[a, b]`.
std::string text_of(const Settings& settings, const Key& key);

// What a value of this key must look like: "a whole number from 0 to 65535".
std::string expectation(const Key& key);

}  // namespace seedance::config
