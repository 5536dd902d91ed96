// What the core is told, and the effects that it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/id.h"
#include "base/time.h"
#include "engine/end_cause.h"
#include "engine/job.h"
#include "stream/journal.h"
#include "stream/token_log.h"
#include "text/codec.h"
#include "text/detokenizer.h"
#include "text/piece_table.h"
#include "text/tokenizer.h"

namespace seedance::core {

// Who asks: whose streams it sees. What else it may do is decided before the core.
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

  friend constexpr auto operator<=>(const ReplyTo&, const ReplyTo&) = default;
};

// What becomes of a stream that nobody reads any more.
enum class Detach : std::uint8_t {
  automatic,  // Runs on for orphan_ttl.
  keep,       // Runs on for detach_ttl.
  cancel,     // Ends at once.
};

// The API that a request came by: how its stream is shown to who names no other.
enum class Surface : std::uint8_t { native, chat, completions };

// A parsed and checked request of any API.
struct GenerateRequest {
  std::string model = {};  // "name" or "name@version"; empty = the only one.
  text::PromptInput input = {};
  engine::Sampling sampling = {};
  bool seeded = false;  // sampling.seed is the client's; else the core takes Submit::entropy.
  std::optional<std::uint32_t> max_tokens = {};  // None = as many as the context holds.
  text::TextOptions text = {};
  std::optional<Duration> deadline = {};  // To be running by, from its arrival.
  Detach detach = Detach::automatic;
  Surface surface = Surface::native;
  bool include_usage = false;  // OpenAI's stream_options.
  std::string key = {};        // Idempotency key, unique per tenant; empty = none.
  Priority priority = Priority::interactive;
  text::Overflow overflow = text::Overflow::error;
  std::optional<StreamId> parent = {};  // The stream that it continues.
  text::AnswerFormat format = {};
};

// What its prompt, and the whole of it, take of memory, about.
std::uint64_t input_bytes_of(const GenerateRequest& request);
std::uint64_t bytes_of(const GenerateRequest& request);

// A stream as its owner sees it in a list, or when a reader comes back to it.
enum class StreamState : std::uint8_t {
  queued,
  prefill,
  decode,
  recovering,  // Its engine or the server died; it goes on by itself.
  done,
};

std::string_view name(StreamState state);

// In.

struct Submit {
  ReplyTo reply_to;
  Principal principal;
  StreamId stream;            // Fresh, from the secure generator.
  std::uint64_t entropy = 0;  // Fresh: the seed of a request that names none.
  WallTime wall;              // When it arrived.
  Duration waited = {};       // Since then.
  stream::Sha256 body = {};   // Of the request; looked at only when it has a key.
  GenerateRequest request;
};

// A reader comes (back) to a stream.
struct Attach {
  ReplyTo reply_to;
  Principal principal;
  StreamId stream;
  Offset from;                      // The token wanted next.
  std::optional<Epoch> epoch = {};  // Of the log that the reader knows; required when from > 0.
};

// The reader has everything up to `from`, behind the end: counts only at the total
// of a stream that is done, and then shortens its retention. Never answered.
struct Acknowledge {
  Principal principal;
  StreamId stream;
  Offset from;
};

struct ListStreams {
  ReplyTo reply_to;
  Principal principal;
};

struct CancelStream {
  ReplyTo reply_to;
  Principal principal;
  StreamId stream;
};

// Who submitted or attached so reads no more: the connection is gone or gave the
// stream up. Needless once the reader saw the stream's end.
struct ReaderGone {
  ReplyTo reader;
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
  engine::EndCause cause = engine::EndCause::other;
  // The next one has other settings, since these were at fault: no stream is.
  bool other_settings = false;
  std::size_t rung = 0;  // Of the chain of fallbacks, that the next one has; 0 = none.
};

// No new requests. What is not finished at `deadline` is left to the journal; without
// one it is cancelled.
struct Drain {
  TimePoint deadline;
};

// All batches up to this one are in the journal.
struct JournalWritten {
  std::uint64_t batch = 0;
};

// The journal cannot write now (the disk is full, say): it keeps trying. Until it
// flows again nothing is committed, and new requests are refused with `problem`.
struct JournalStalled {
  Problem problem;
};
struct JournalFlows {};

using Message = std::variant<Submit, Attach, Acknowledge, ListStreams, CancelStream, ReaderGone,
                             VocabularyEvent, VocabularyDown, EngineEvent, EngineDown, Drain,
                             JournalWritten, JournalStalled, JournalFlows>;

// Out.

// The request is a stream now, or its key names one. Everything that a view needs
// to render it.
struct Accepted {
  StreamId stream;
  Epoch epoch;
  bool attached = false;  // The stream was there already: the request's key names it.
  // Shared: the core writes it, the edge reads it, and whoever lets go last frees it.
  std::shared_ptr<const stream::TokenLog> log;
  std::shared_ptr<const text::PieceTable> pieces;  // Of the model, shared by all its streams.
  std::string model;                               // name@version.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t queue = 0;  // Its place in the queue, from 1; 0 = goes to the engine now.
  WallTime created;
  WallTime expires_at;  // Until when it can be resumed, if it ended now.
  // How it was asked for.
  Surface surface = Surface::native;
  bool include_usage = false;
  text::Dropped dropped = {};  // Of its prompt.
};

// A reader's place in a stream that was there.
struct Resumed {
  Accepted stream;
  Offset from;
  Offset head;
  StreamState state = StreamState::queued;
};

struct StreamSummary {
  StreamId stream;
  Epoch epoch;
  StreamState state = StreamState::queued;
  std::string model;
  WallTime created;
  std::optional<WallTime> expires_at;  // When it is done.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t tokens = 0;
  std::optional<stream::FinishReason> finish_reason;

  friend bool operator==(const StreamSummary&, const StreamSummary&) = default;
};

// The newest first.
struct StreamList {
  std::vector<StreamSummary> streams;
};

// The request became no stream, or the cancel named none.
struct Refused {
  Problem problem;
};

// The stream has ended, by this cancel or before it; its log says how.
struct CancelDone {
  StreamId stream;
};

using ReplyBody = std::variant<Accepted, Resumed, Refused, CancelDone, StreamList>;

struct Reply {
  ReplyTo to;
  ReplyBody body;
};

// These logs grew: render them.
struct Wake {
  EdgeId edge;
  std::vector<ConnectionId> connections;  // Their readers' logs grew; one may be there repeatedly.
};

struct Prepare {
  ModelIndex model;
  text::PrepareRequest request;
};

struct EngineCommand {
  ModelIndex model;
  engine::Command command;
};

// Write this behind what was written before, then say JournalWritten.
struct JournalAppend {
  stream::JournalWrite write;
};

// Nobody needs this segment.
struct JournalRemove {
  std::uint32_t segment = 0;
};

using Effect = std::variant<Reply, Wake, Prepare, EngineCommand, JournalAppend, JournalRemove>;

}  // namespace seedance::core
