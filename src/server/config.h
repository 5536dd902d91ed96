// Everything that a server is told before it starts: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "auth/gate.h"
#include "auth/ticket_book.h"
#include "base/time.h"
#include "core/core.h"
#include "io/child_process.h"
#include "io/tls.h"
#include "store/journal_options.h"
#include "wire/http.h"
#include "wire/ws_connection.h"

namespace seedance::server {

// What a worker is started with instead, where with what it had it fails.
struct LlamaFallback {
  std::optional<std::int32_t> gpu_layers = {};
  std::optional<std::uint32_t> batch_tokens_max = {};
  std::optional<std::uint32_t> sequences_max = {};

  friend bool operator==(const LlamaFallback&, const LlamaFallback&) = default;
};

// A LoRA as a GGUF file: changes the model for those who ask for it, as model+name.
struct Adapter {
  std::string name;
  std::string path;
  std::string digest = {};  // As ModelSpec::digest.
};

// A GGUF file, run by a worker process. 0 always means: the worker decides.
struct LlamaModel {
  std::string path;  // The first file, when split.
  std::uint32_t context_tokens = 0;
  std::uint32_t sequences_max = 0;
  std::int32_t threads = 0;
  std::int32_t gpu_layers = 0;  // -1 = all.
  std::uint32_t batch_tokens_max = 0;
  std::uint32_t step_target_ms = 0;
  std::uint32_t draft_tokens_max = 0;  // Guessed in one step; here 0 means none.
  bool draft_ngrams = true;            // From what repeats;
  std::string draft_model = {};        // by a small model; empty = none.
  std::uint32_t step_max_ms = 0;
  std::optional<std::uint32_t> prefill_pause_ms = {};  // Nothing: the worker decides.
  std::uint32_t kv_tokens = 0;                         // Together; else each has room of its own.
  std::string kv_type = {};                            // Empty: the worker decides.
  std::uint32_t park_memory_mb = 0;                    // Here 0 means none.
  std::optional<std::uint32_t> reuse_min = {};         // Nothing: it decides; 0 = never.
  // In this order; each says all that is different from what stands above.
  std::vector<LlamaFallback> fallbacks = {};
  // How long its processes may say nothing while they load, or have work; 0 = for ever.
  Duration load_timeout{};
  Duration step_timeout{};
  Duration prepare_timeout{};
  std::uint64_t grammar_bytes_max = 0;  // Of memory, for the grammars of all streams.
  std::uint32_t schema_ms = 0;          // Of the processor, for the grammar of one schema.
  std::vector<Adapter> adapters = {};
};

// No model: tokens from a script, in the text form of src/scripted.
struct ScriptedModel {
  std::string script;
};

struct ModelSpec {
  std::string name;
  std::uint32_t version = 1;
  std::string digest = {};  // Of what it is made of: streams are continued on nothing else.
  std::variant<LlamaModel, ScriptedModel> engine;

  std::string full_name() const { return name + "@" + std::to_string(version); }
  std::span<const Adapter> adapters() const {
    const auto* llama = std::get_if<LlamaModel>(&engine);
    return llama == nullptr ? std::span<const Adapter>{} : llama->adapters;
  }
};

// Where streams are kept so that they outlive the server.
struct JournalSpec {
  store::JournalOptions files;
  stream::JournalLimits limits;
};

// What one edge, connection or client may take.
struct ServerLimits {
  std::uint32_t connections_max = 65536;           // Lowered to what the descriptor limit allows.
  std::uint32_t connections_per_address_max = 0;   // 0 = no limit of its own.
  std::uint32_t connections_per_tenant_max = 0;    // WebSockets; likewise.
  std::uint32_t accepts_per_second_max = 0;        // Of all edges; likewise.
  std::uint32_t streams_per_connection_max = 16;   // Asked for on a WebSocket, and not ended.
  std::uint32_t waiting_per_connection_max = 256;  // Beyond these: requests, and their bytes.
  std::uint64_t waiting_bytes_per_connection_max = 1 << 20;
  std::uint32_t resumes_per_connection_max = 256;
  std::uint32_t messages_queued_max = 65536;  // From the edges to the core.
  std::size_t render_bytes_max = 64 << 10;    // Rendered for one send.
  std::size_t pending_bytes_max = 64 << 10;   // Of answers unsent: nothing is read beyond.
  std::size_t send_buffer_bytes = 256 << 10;  // Of the kernel, for each socket.
  Duration handshake_timeout = std::chrono::seconds{10};   // Of TLS, in all.
  Duration header_timeout = std::chrono::seconds{10};      // First byte to the end of the head.
  Duration body_timeout = std::chrono::seconds{60};        // End of the head to that of the body.
  Duration keep_alive_timeout = std::chrono::seconds{75};  // Between two requests.
  Duration idle_timeout = Duration::zero();           // Of WebSockets without a stream; 0 = none.
  Duration stall_timeout = std::chrono::seconds{60};  // Nothing is taken of what is to be sent.
  Duration sse_comment_after = std::chrono::seconds{15};  // A silent event stream says something.
  wire::HttpLimits http;
  wire::WsLimits websocket;
};

struct ServerConfig {
  std::optional<io::TlsOptions> tls;   // Nothing = in the clear.
  std::string host = "127.0.0.1";      // An IPv4 or IPv6 address, or a name that means one.
  std::uint16_t port = 8080;           // 0 = any free one.
  std::uint32_t edges = 0;             // I/O threads; 0 = a quarter of the cores, at least one.
  std::vector<ModelSpec> models;       // At least one; names differ.
  std::optional<JournalSpec> journal;  // None = streams live as long as the server.

  // Who may come in; the probes and the static page are open to all. It may hold
  // thousands of keys, so the edges share it.
  std::shared_ptr<const auth::Gate> gate = std::make_shared<const auth::Gate>();
  auth::TicketLimits tickets;
  std::string audit_log;  // A file; empty = none.
  // Beside localhost, the loopback addresses and `host`; "*" = any. Without port.
  std::vector<std::string> allowed_hosts;
  // Of pages from elsewhere that may use this server, as browsers write them
  // ("https://app.example"); "*" = any.
  std::vector<std::string> allowed_origins;

  bool streaming = true;              // Else answers are sent whole, unless merge_ms is asked for.
  Duration merge = Duration::zero();  // Of streams that ask for no merge_ms.
  std::optional<int> deflate_level;   // Of WebSockets, 1 to 9; nothing = not compressed.
  bool debug_echo = false;            // GET /debug/echo, a WebSocket that says everything back.
  Duration drain_timeout = std::chrono::seconds{5};  // At the first SIGINT or SIGTERM.
  // Runs as `program worker --fd 3 --model PATH [--ctx-size N] [--parallel N]
  // [--threads N] [--gpu-layers N] [--batch-tokens N] [--step-target-ms N]
  // [--step-max-ms N] [--speculate-tokens N] [--draft-model PATH [--no-ngrams]] [--kv-tokens N]
  // [--kv-type TYPE] [--park-memory MB] [--prefix-reuse-min N] [--grammar-memory N]
  // [--adapter PATH]...` and as `program vocabulary --fd 3 --model PATH [--schema-ms N]`; where the
  // worker decides, it is left out.
  std::string program = io::kOwnProgram;

  ServerLimits limits;
  core::Limits core;
};

}  // namespace seedance::server
