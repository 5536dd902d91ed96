#include "config/settings.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace seedance::config {
namespace {

constexpr std::string_view kModel = "Model";
constexpr std::string_view kNetwork = "Network and access";
constexpr std::string_view kJournal = "Journal";
constexpr std::string_view kDelivery = "Delivery";
constexpr std::string_view kLimits = "Limits";
constexpr std::int64_t kDayMs = 86'400'000;

using S = Settings;

constexpr Key reloaded(Key key) {
  key.reload = true;
  return key;
}

constexpr std::array kKeys{
    Key{"model_path", "--model", kModel,
        "GGUF file to serve; of a split model, the first file; empty = the demo model that comes "
        "with seedance",
        &S::model_path},
    Key{"model_name", "--model-name", kModel,
        "Name by which clients ask for it, without @ and +; empty = the file's name",
        &S::model_name},
    Key{"adapters", "--adapter", kModel,
        "LoRA adapters of the model, as NAME=FILE of a GGUF file each, at most 32; clients ask for "
        "one as model+NAME",
        &S::adapters},
    Key{"engine", "--engine", kModel,
        "What makes the tokens: llama, or scripted[:SCRIPT], which needs no model", &S::engine},
    Key{"ctx_size", "--ctx-size", kModel,
        "Tokens that prompt and answer of one stream can have together; 0 = what the model was "
        "trained for, at most 4096",
        &S::ctx_size, 0, 16'777'216},
    Key{"max_concurrent_streams", "--parallel", kModel,
        "Streams that the model computes at the same time; more wait in the queue; 0 = 64, or as "
        "many as there is memory for",
        &S::max_concurrent_streams, 0, 256},
    Key{"threads", "--threads", kModel, "Threads that compute; 0 = one for each core", &S::threads,
        0, 1024},
    Key{"gpu_layers", "--gpu-layers", kModel, "Layers of the model to keep on a GPU; -1 = all",
        &S::gpu_layers, -1, 10'000},
    Key{"batch_tokens", "--batch-tokens", kModel,
        "Tokens that one step of the model computes at most; 0 = the worker's choice",
        &S::batch_tokens, 0, 65'536},
    Key{"step_target_ms", "--step-target-ms", kModel,
        "Milliseconds between two tokens of a running stream up to which new prompts may be "
        "computed "
        "in between",
        &S::step_target_ms, 1, 60'000},
    Key{"speculate", "--speculate", kModel,
        "ngram = while few streams run, tokens are guessed from what their text says again, and "
        "computed ahead where that is faster; which tokens come does not change; off = never",
        &S::speculate},
    Key{"speculate_tokens", "--speculate-tokens", kModel,
        "Tokens that one step guesses at most, of all streams together; with more streams than "
        "that none are guessed",
        &S::speculate_tokens, 1, 255},
    Key{"draft_model", "--draft-model", kModel,
        "GGUF file of a small model with the same vocabulary, which guesses in the same way, also "
        "what says nothing again; empty = none",
        &S::draft_model},
    Key{"step_max_ms", "--step-max-ms", kModel,
        "Milliseconds that a step may take in which prompts alone are computed; a cancel waits for "
        "it",
        &S::step_max_ms, 1, 60'000},
    Key{"prefill_pause_ms", "--prefill-pause-ms", kModel,
        "Milliseconds that running streams may pause for long prompts, at fewer than one of their "
        "tokens in a hundred; 0 = never",
        &S::prefill_pause_ms, 0, 600'000},
    Key{"kv_tokens", "--kv-tokens", kModel,
        "Tokens that all streams have room for in memory together; 0 = each has room for ctx_size "
        "of "
        "its own, which is faster and takes more",
        &S::kv_tokens, 0, 1'073'741'824},
    Key{"kv_type", "--kv-type", kModel,
        "How the memory of these tokens is kept: f16, or q8_0 or q4_0, which take half and a "
        "quarter",
        &S::kv_type},
    Key{"park_memory", "--park-memory", kModel,
        "Megabytes in which streams that have to wait in the middle keep what was computed of "
        "them, where that is faster than computing it again; 0 = none",
        &S::park_memory, 0, 1'048'576},
    Key{"prefix_reuse_min", "--prefix-reuse-min", kModel,
        "Tokens that the beginning of a prompt must have in common with another's, running or "
        "ended, to be used again and not computed; 0 = every prompt is computed whole",
        &S::prefix_reuse_min, 0, 16'777'216},
    Key{"share_prefixes", "--share-prefixes", kModel,
        "true = what was computed of a prompt's beginning serves all tenants, who can tell from "
        "the "
        "time it takes that somebody had asked the same; false = its own tenant only",
        &S::share_prefixes},
    Key{"fallbacks", "--fallback", kModel,
        "What the worker is started with instead, one after another, when it runs out of memory or "
        "aborts, as in \"gpu_layers=0 batch_tokens=256\" (and max_concurrent_streams); auto = "
        "fewer streams, then fewer layers on the GPU; none = never",
        &S::fallbacks},
    Key{"step_timeout_ms", "--step-timeout-ms", kModel,
        "Milliseconds after which a worker that has work and says nothing is stuck, and replaced; "
        "0 = never",
        &S::step_timeout_ms, 0, kDayMs},
    Key{"load_timeout_ms", "--load-timeout-ms", kModel,
        "The same while it loads and makes no progress; 0 = never", &S::load_timeout_ms, 0, kDayMs},
    Key{"prepare_timeout_ms", "--prepare-timeout-ms", kModel,
        "The same of the vocabulary process and a prompt that it prepares; 0 = never",
        &S::prepare_timeout_ms, 0, kDayMs},

    Key{"host", "--host", kNetwork,
        "Address to listen on; 0.0.0.0 = all (then set keys_file and allowed_hosts)", &S::host},
    Key{"websocket_port", "--port", kNetwork,
        "Port for WebSocket and HTTP alike; 0 = any free one, named when ready", &S::websocket_port,
        0, 65'535},
    reloaded(Key{"tls_cert", "--tls-cert", kNetwork,
                 "PEM file of the server's certificate and those that lead to a root; given, every "
                 "connection is TLS (https, wss)",
                 &S::tls_cert}),
    reloaded(Key{"tls_key", "--tls-key", kNetwork, "PEM file of the certificate's private key",
                 &S::tls_key}),
    reloaded(Key{"tls_client_ca", "--tls-client-ca", kNetwork,
                 "PEM file of who signs certificates of clients; given, clients are asked for one",
                 &S::tls_client_ca}),
    reloaded(Key{"tls_client_required", "--tls-client-required", kNetwork,
                 "Refuse connections of clients without such a certificate",
                 &S::tls_client_required}),
    Key{.name = "api_keys",
        .flag = "--api-key",
        .group = kNetwork,
        .help = "Keys of which clients must send one, each of the tenant \"local\" and an admin's; "
                "better is keys_file",
        .field = &S::api_keys,
        .secret = true,
        .reload = true},
    reloaded(Key{"keys_file", "--keys-file", kNetwork,
                 "File of keys with their tenants, of which clients must send one: see `seedance "
                 "keys`; read again on SIGHUP",
                 &S::keys_file}),
    reloaded(Key{"jwt_secret_file", "--jwt-secret-file", kNetwork,
                 "File with the secret of 32 bytes or more by which tokens are signed (HS256); "
                 "clients send a token instead of a key",
                 &S::jwt_secret_file}),
    reloaded(Key{"jwt_public_key_file", "--jwt-public-key-file", kNetwork,
                 "PEM file of the Ed25519 public key of whoever signs tokens (EdDSA), instead of "
                 "jwt_secret_file",
                 &S::jwt_public_key_file}),
    reloaded(Key{"jwt_audience", "--jwt-audience", kNetwork,
                 "What tokens must have as, or in, their claim aud; empty = those for an audience "
                 "are refused",
                 &S::jwt_audience}),
    reloaded(Key{"jwt_issuer", "--jwt-issuer", kNetwork,
                 "What tokens must have as their claim iss; empty = anything", &S::jwt_issuer}),
    reloaded(Key{"ticket_ttl_ms", "--ticket-ttl-ms", kNetwork,
                 "Milliseconds in which a ticket of POST /v1/tickets must be used",
                 &S::ticket_ttl_ms, 1000, 3'600'000}),
    Key{"insecure", "--insecure", kNetwork,
        "Start although whoever reaches the address may come in without key or token",
        &S::insecure},
    Key{"audit_log", "--audit-log", kNetwork,
        "File to which is added who connected, asked, resumed, cancelled or was refused, as JSON "
        "lines; empty = none",
        &S::audit_log},
    reloaded(Key{"allowed_hosts", "--allowed-host", kNetwork,
                 "Names by which clients may reach this server, beside localhost and host; * = any",
                 &S::allowed_hosts}),
    reloaded(Key{"allowed_origins", "--allowed-origin", kNetwork,
                 "Pages of other sites that may use this server (https://app.example); * = any",
                 &S::allowed_origins}),
    Key{"data_dir", "--data-dir", kNetwork,
        "Directory for what the server keeps; empty = $XDG_DATA_HOME/seedance or "
        "~/.local/share/seedance",
        &S::data_dir},

    Key{"journal", "--journal", kJournal,
        "Where streams are kept so that they outlive the server: file, in data_dir, or none",
        &S::journal},
    Key{"journal_sync", "--journal-sync", kJournal,
        "What a failure of the whole machine may cost: none = what the system had not written, "
        "interval = what is newer than journal_sync_interval_ms, always = nothing",
        &S::journal_sync},
    Key{"journal_sync_interval_ms", "--journal-sync-interval-ms", kJournal,
        "Milliseconds between two syncs, with journal_sync: interval", &S::journal_sync_interval_ms,
        1, 60'000},
    Key{"journal_max_bytes", "--journal-max-bytes", kJournal,
        "Bytes that the journal may take on the disk; requests beyond are refused as overloaded",
        &S::journal_max_bytes, 1 << 20, std::int64_t{1} << 46},

    reloaded(
        Key{"enable_streaming", "--enable-streaming", kDelivery,
            "Send tokens as they are made; false = answers arrive whole, unless a request sets "
            "merge_ms",
            &S::enable_streaming}),
    reloaded(
        Key{"buffer_timeout_ms", "--buffer-timeout-ms", kDelivery,
            "Milliseconds for which tokens are gathered into one chunk; 0 = each is sent at once",
            &S::buffer_timeout_ms, 0, 10'000}),
    reloaded(Key{"websocket_deflate", "--websocket-deflate", kDelivery,
                 "Compress on new WebSockets whose client offers permessage-deflate: it costs "
                 "processor time and helps large messages only",
                 &S::websocket_deflate}),
    reloaded(Key{"websocket_deflate_level", "--websocket-deflate-level", kDelivery,
                 "How hard websocket_deflate tries; 1 is fastest", &S::websocket_deflate_level, 1,
                 9}),
    reloaded(Key{"debug_echo", "--debug-echo", kDelivery,
                 "Serve GET /debug/echo, a WebSocket that says everything back, for suites that "
                 "test WebSockets",
                 &S::debug_echo}),

    Key{"edge_threads", "--edge-threads", kLimits,
        "Threads that serve connections; 0 = a quarter of the cores, at least one",
        &S::edge_threads, 0, 64},
    reloaded(Key{"max_connections", "--max-connections", kLimits,
                 "Connections that are open at one time", &S::max_connections, 1, 1'000'000}),
    reloaded(Key{"max_connections_per_address", "--max-connections-per-address", kLimits,
                 "Of these, those from one address, of IPv6 one /64; 0 = no limit of its own, as "
                 "behind a proxy",
                 &S::max_connections_per_address, 0, 1'000'000}),
    reloaded(Key{"max_connections_per_tenant", "--max-connections-per-tenant", kLimits,
                 "WebSockets of one tenant that are open at one time; 0 = no limit of its own",
                 &S::max_connections_per_tenant, 0, 1'000'000}),
    reloaded(Key{"max_accepts_per_second", "--max-accepts-per-second", kLimits,
                 "Connections that are accepted in a second; more wait in the kernel's backlog; 0 "
                 "= no limit",
                 &S::max_accepts_per_second, 0, 1'000'000}),
    reloaded(Key{"max_streams_per_connection", "--max-streams-per-connection", kLimits,
                 "Requests of one WebSocket connection that are in work at a time; more wait",
                 &S::max_streams_per_connection, 1, 65'536}),
    reloaded(Key{"max_waiting_per_connection", "--max-waiting-per-connection", kLimits,
                 "Requests that wait so in one connection; more are refused as stream_limit",
                 &S::max_waiting_per_connection, 0, 65'536}),
    reloaded(Key{"max_waiting_bytes_per_connection", "--max-waiting-bytes-per-connection", kLimits,
                 "Bytes of memory that these requests take; more are refused as stream_limit",
                 &S::max_waiting_bytes_per_connection, 0, std::int64_t{1} << 30}),
    reloaded(Key{"max_resumes_per_connection", "--max-resumes-per-connection", kLimits,
                 "Streams that one WebSocket connection reads by RESUME, beside those that it "
                 "asked for",
                 &S::max_resumes_per_connection, 1, 65'536}),
    Key{"max_streams_per_tenant", "--max-streams-per-tenant", kLimits,
        "Streams of one tenant that have not ended; more are refused as stream_limit; 0 = any "
        "number",
        &S::max_streams_per_tenant, 0, 1'000'000},
    reloaded(Key{"max_message_bytes", "--max-message-bytes", kLimits,
                 "Bytes of one request: a WebSocket message or an HTTP body", &S::max_message_bytes,
                 1024, 16'777'216}),
    reloaded(Key{"max_message_fragments", "--max-message-fragments", kLimits,
                 "Fragments of one WebSocket message, empty ones too", &S::max_message_fragments, 1,
                 1'000'000}),
    reloaded(Key{"max_target_bytes", "--max-target-bytes", kLimits,
                 "Bytes of the path and query of an HTTP request", &S::max_target_bytes, 256,
                 1 << 20}),
    reloaded(Key{"max_header_bytes", "--max-header-bytes", kLimits,
                 "Bytes of the request line and headers of an HTTP request together",
                 &S::max_header_bytes, 1024, 1 << 20}),
    reloaded(Key{"max_headers", "--max-headers", kLimits, "Headers of an HTTP request",
                 &S::max_headers, 10, 10'000}),
    reloaded(Key{"max_pings_per_second", "--max-pings-per-second", kLimits,
                 "Pings, pongs and PING messages that a WebSocket takes in a second; it is closed "
                 "at more",
                 &S::max_pings_per_second, 1, 1'000'000}),
    reloaded(Key{"max_tickets", "--max-tickets", kLimits,
                 "Tickets that wait for being used; more are refused as overloaded",
                 &S::max_tickets, 1, 1'000'000}),
    reloaded(Key{"max_tickets_per_tenant", "--max-tickets-per-tenant", kLimits,
                 "Of these, tickets of one tenant; more are refused as rate_limited; 0 = half of "
                 "max_tickets",
                 &S::max_tickets_per_tenant, 0, 1'000'000}),
    Key{"max_queued_streams", "--max-queued-streams", kLimits,
        "Streams that wait for the model; more are refused as overloaded", &S::max_queued_streams,
        1, 1'000'000},
    Key{"max_preparing_streams", "--max-preparing-streams", kLimits,
        "Requests that are being prepared or wait for it; more are refused as overloaded; 0 = "
        "as max_queued_streams",
        &S::max_preparing_streams, 0, 1'000'000},
    Key{"max_preparing_bytes", "--max-preparing-bytes", kLimits,
        "Bytes of these prompts; more are refused as overloaded, but one alone may be larger",
        &S::max_preparing_bytes, 1024, std::int64_t{1} << 40},
    Key{"max_shift_tokens", "--max-shift-tokens", kLimits,
        "Tokens of an answer that goes on when its context is full (overflow: shift)",
        &S::max_shift_tokens, 1, 1'000'000},
    Key{"max_grammar_bytes", "--max-grammar-bytes", kLimits,
        "Bytes of a grammar or JSON schema that an answer must keep to", &S::max_grammar_bytes, 64,
        1 << 20},
    Key{"max_grammar_memory_bytes", "--max-grammar-memory-bytes", kLimits,
        "Bytes of memory, in the server and about in the worker, that the grammars of all streams "
        "take; more are refused as overloaded",
        &S::max_grammar_memory_bytes, 1 << 20, std::int64_t{1} << 40},
    Key{"max_schema_ms", "--max-schema-ms", kLimits,
        "Milliseconds of the processor that making the grammar of a JSON schema may take",
        &S::max_schema_ms, 1, 10'000},
    Key{"queue_timeout_ms", "--queue-timeout-ms", kLimits,
        "Milliseconds that a stream waits for the model before it ends as deadline_exceeded",
        &S::queue_timeout_ms, 1, kDayMs},
    Key{"priority_ageing_ms", "--priority-ageing-ms", kLimits,
        "Milliseconds in the queue after which a stream goes as one of the next higher priority; 0 "
        "= never",
        &S::priority_ageing_ms, 0, kDayMs},
    Key{"detach_ttl_ms", "--detach-ttl-ms", kLimits,
        "Milliseconds that a stream runs on without a reader, where its client can come back: "
        "native requests, those with an idempotency key or detach: keep",
        &S::detach_ttl_ms, 0, kDayMs},
    Key{"orphan_ttl_ms", "--orphan-ttl-ms", kLimits,
        "Milliseconds that any other stream runs on without a reader", &S::orphan_ttl_ms, 0,
        kDayMs},
    Key{"terminal_ttl_ms", "--terminal-ttl-ms", kLimits,
        "Milliseconds that a stream can be resumed after its end", &S::terminal_ttl_ms, 0, kDayMs},
    Key{"max_kept_streams", "--max-kept-streams", kLimits,
        "Streams that are kept after their end; the oldest go first", &S::max_kept_streams, 1,
        10'000'000},
    Key{"max_kept_bytes", "--max-kept-bytes", kLimits,
        "Bytes of memory, about, that streams take after their end; the oldest go first",
        &S::max_kept_bytes, 1 << 20, std::int64_t{1} << 40},
    Key{"recovery_timeout_ms", "--recovery-timeout-ms", kLimits,
        "Milliseconds that an interrupted stream waits for a new worker before it fails",
        &S::recovery_timeout_ms, 1, kDayMs},
    reloaded(Key{"handshake_timeout_ms", "--handshake-timeout-ms", kLimits,
                 "Milliseconds that the TLS handshake of a connection may take in all",
                 &S::handshake_timeout_ms, 100, kDayMs}),
    reloaded(Key{"header_timeout_ms", "--header-timeout-ms", kLimits,
                 "Milliseconds that the head of an HTTP request may take in all to arrive",
                 &S::header_timeout_ms, 100, kDayMs}),
    reloaded(Key{"message_timeout_ms", "--message-timeout-ms", kLimits,
                 "Milliseconds that a WebSocket message or an HTTP body may take in all to arrive",
                 &S::message_timeout_ms, 100, kDayMs}),
    reloaded(Key{"keep_alive_timeout_ms", "--keep-alive-timeout-ms", kLimits,
                 "Milliseconds that an HTTP connection may wait for its next request",
                 &S::keep_alive_timeout_ms, 100, kDayMs}),
    reloaded(Key{"idle_timeout_ms", "--idle-timeout-ms", kLimits,
                 "Milliseconds after which a WebSocket without a stream, and without messages "
                 "other than pings, is closed; 0 = never",
                 &S::idle_timeout_ms, 0, kDayMs}),
    reloaded(Key{"stall_timeout_ms", "--stall-timeout-ms", kLimits,
                 "Milliseconds after which a connection that takes no bytes is closed",
                 &S::stall_timeout_ms, 100, kDayMs}),
    reloaded(Key{
        "drain_timeout_ms", "--drain-timeout-ms", kLimits,
        "Milliseconds that running streams get to finish after SIGTERM; the journal keeps the rest",
        &S::drain_timeout_ms, 0, kDayMs}),
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

struct TextOf {
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
  std::string operator()(const std::vector<std::string>& list) const {
    std::string out = "[";
    for (const std::string& item : list) out += (out.size() > 1 ? ", " : "") + quoted(item);
    return out + "]";
  }
};

}  // namespace

std::span<const Key> keys() {
  return kKeys;
}

std::string text_of(const Settings& settings, const Key& key) {
  return std::visit([&](auto field) { return TextOf{}(settings.*field); }, key.field);
}

std::string expectation(const Key& key) {
  if (std::holds_alternative<bool Settings::*>(key.field)) return "true or false";
  if (std::holds_alternative<std::int64_t Settings::*>(key.field)) {
    return fmt::format("a whole number from {} to {}", key.least, key.most);
  }
  if (std::holds_alternative<std::string Settings::*>(key.field)) return "one line of text";
  return "a list of texts";
}

}  // namespace seedance::config
