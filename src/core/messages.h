// What the core is told, and the effects that it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/id.h"
#include "base/time.h"
#include "engine/job.h"
#include "stream/token_log.h"
#include "text/codec.h"
#include "text/detokenizer.h"
#include "text/piece_table.h"
#include "text/tokenizer.h"

namespace seedance::core {

// Who asks. Until keys exist there is one tenant.
struct Principal {
  std::string tenant = "local";

  friend bool operator==(const Principal&, const Principal&) = default;
};

// An I/O thread, by number from 0.
struct EdgeId {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(EdgeId, EdgeId) = default;
};

// A model that this server runs, by number from 0.
struct ModelIndex {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(ModelIndex, ModelIndex) = default;
};

// Where an answer goes: core only hands it back.
struct ReplyTo {
  EdgeId edge;
  ConnectionId connection;
  std::uint64_t request = 0;  // The edge's number for the request, unique per connection.

  friend bool operator==(const ReplyTo&, const ReplyTo&) = default;
};

// What becomes of a stream that nobody reads any more.
enum class Detach : std::uint8_t {
  automatic,  // Runs on for orphan_ttl.
  keep,       // Runs on for detach_ttl.
  cancel,     // Ends at once.
};

// A parsed and checked request of any API.
struct GenerateRequest {
  std::string model = {};  // "name" or "name@version"; empty = the only one.
  text::PromptInput input = {};
  engine::Sampling sampling = {};
  bool seeded = false;  // sampling.seed is the client's; else the core takes Submit::entropy.
  std::optional<std::uint32_t> max_tokens = {};  // None = as many as the context holds.
  text::TextOptions text = {};
  std::optional<Duration> deadline = {};  // To be running by, from submission.
  Detach detach = Detach::automatic;
};

// In.

struct Submit {
  ReplyTo reply_to;
  Principal principal;
  StreamId stream;            // Fresh, from the secure generator.
  std::uint64_t entropy = 0;  // Fresh: the seed of a request that names none.
  WallTime wall;              // When it arrived.
  GenerateRequest request;
};

struct CancelStream {
  ReplyTo reply_to;
  Principal principal;
  StreamId stream;
};

// The connection that asked for this stream, accepted or not yet, is gone or
// gave it up.
struct ReaderGone {
  StreamId stream;
};

struct VocabularyEvent {
  ModelIndex model;
  text::VocabularyEvent event;
};

// The vocabulary process ended; what it was asked is not answered any more.
struct VocabularyDown {
  ModelIndex model;
};

struct EngineEvent {
  ModelIndex model;
  engine::Event event;
};

// The engine's process ended. Its jobs are gone; Ready says when there is a new one.
struct EngineDown {
  ModelIndex model;
};

// No new requests; everything that is not finished is cancelled at `deadline`.
struct Drain {
  TimePoint deadline;
};

using Message = std::variant<Submit, CancelStream, ReaderGone, VocabularyEvent, VocabularyDown,
                             EngineEvent, EngineDown, Drain>;

// Out.

// The request is a stream now. Everything that a view needs to render it.
struct Accepted {
  StreamId stream;
  Epoch epoch;
  // Shared: the core writes it, the edge reads it, and whoever lets go last frees it.
  std::shared_ptr<const stream::TokenLog> log;
  std::shared_ptr<const text::PieceTable> pieces;  // Of the model, shared by all its streams.
  std::string model;                               // name@version.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t queue = 0;  // Its place in the queue, from 1; 0 = goes to the engine now.
  WallTime created;
};

// The request became no stream, or the cancel named none.
struct Refused {
  Problem problem;
};

// The stream has ended, by this cancel or before it; its log says how.
struct CancelDone {
  StreamId stream;
};

struct Reply {
  ReplyTo to;
  std::variant<Accepted, Refused, CancelDone> body;
};

// These logs grew: render them.
struct Wake {
  EdgeId edge;
  std::vector<StreamId> streams;
};

struct Prepare {
  ModelIndex model;
  text::PrepareRequest request;
};

struct EngineCommand {
  ModelIndex model;
  engine::Command command;
};

using Effect = std::variant<Reply, Wake, Prepare, EngineCommand>;

}  // namespace seedance::core
