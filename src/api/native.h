// The native protocol on a WebSocket: docs/formats/protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/delivery.h"
#include "api/request.h"
#include "base/error_code.h"
#include "base/id.h"
#include "base/time.h"
#include "core/messages.h"
#include "stream/token_log.h"

namespace seedance::api {

enum class Subprotocol : std::uint8_t { json, binary };

inline constexpr std::string_view kJsonSubprotocol = "seedance.v2+json";
inline constexpr std::string_view kBinarySubprotocol = "seedance.v2+binary";

inline constexpr std::size_t kClientIdBytesMax = 128;
inline constexpr std::size_t kKeyBytesMax = 256;  // Of an idempotency key.
inline constexpr std::int64_t kMergeMsMax = 1000;
inline constexpr std::int64_t kMergeBytesMax = 16'384;

// What a chunk tells beside its text: the request's `with`.
struct ChunkExtras {
  bool tokens = false;
  bool logprobs = false;
  bool time = false;

  friend bool operator==(const ChunkExtras&, const ChunkExtras&) = default;
};

struct NativeOptions {
  ChunkExtras with;
  // After a chunk, wait this long before the next one; none = as the server is
  // configured. The edge's to carry out.
  std::optional<Duration> merge = {};
  // Wait no longer when so much text is unsent; 0 = however much it is. Only with
  // `merge` above 0.
  std::uint32_t merge_bytes = 0;

  friend bool operator==(const NativeOptions&, const NativeOptions&) = default;
};

// Ids are the client's names for streams on this connection. That an id is not
// in use already is the caller's to check.
struct InferRequest {
  std::string id;
  core::GenerateRequest request;
  NativeOptions options;
};

// Goes on reading a stream that was there.
struct ResumeRequest {
  std::string id;
  StreamId stream;
  Offset from;                      // The token wanted next.
  std::optional<Epoch> epoch = {};  // Always when `from` is not 0.
  NativeOptions options = {};
};

// The client has all tokens of a stream that ended, which it names by one of the
// two. Never answered, unless `id` means nothing.
struct AckRequest {
  std::string id;  // Empty when `stream` is set.
  std::optional<StreamId> stream;
  Offset total;
};

// Names its stream by one of the two.
struct CancelRequest {
  std::string id;  // Empty when `stream` is set.
  std::optional<StreamId> stream;
};

struct Ping {
  std::optional<std::int64_t> ts;
};

// To be answered by append_error(); the connection stays open.
struct NativeRefusal {
  std::string id;  // Empty when the message gave none.
  Problem problem;
};

using ClientMessage =
    std::variant<InferRequest, ResumeRequest, AckRequest, CancelRequest, Ping, NativeRefusal>;

// Reads one text message of a client. Any bytes give an answer.
ClientMessage parse_client_message(std::string_view json, Subprotocol subprotocol);

// The fields of INFER_REQ and what becomes of each.
std::span<const FieldRule> infer_fields();

// Each appends one whole WebSocket frame with a JSON message.
void append_accepted(std::string& out, std::string_view id, std::uint32_t channel,
                     const core::Accepted& accepted);
void append_resumed(std::string& out, std::string_view id, std::uint32_t channel,
                    const core::Resumed& resumed);
// The server wants the connection to end: all of it within `reconnect_within`.
void append_goaway(std::string& out, std::string_view reason, Duration reconnect_within);
// A refusal. Empty `id` and absent `stream` are left out.
void append_error(std::string& out, std::string_view id, std::optional<StreamId> stream,
                  const Problem& problem);
void append_pong(std::string& out, const Ping& ping, WallTime now);

// Tokens [from, to) and their text.
struct Chunk {
  Offset from;
  Offset to;
  std::string_view text;
};

// One stream as INFER_CHUNK and INFER_DONE, in WebSocket frames. A CANCEL is
// acknowledged by the stream's own INFER_DONE.
//
// Owned by the connection that reads the stream; belongs to its thread.
class NativeView {
 public:
  NativeView(Subprotocol subprotocol, std::string id, std::uint32_t channel, ChunkExtras with);

  // Appends what lies between cursor and head as whole frames, as few as it
  // may, and moves the cursor behind it. Stops after the frame with which
  // `out` has grown by `bytes_max` or more: at least one, if there is anything
  // to tell. Sets cursor.done with INFER_DONE, after which nothing comes.
  Rendered render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                  std::size_t bytes_max);

  // What is told next is told soon.
  void look_ahead(const stream::TokenLog& log) const { log.prefetch_text(told_.text_end); }

  const std::string& id() const { return id_; }
  ChunkExtras with() const { return with_; }

 private:
  // A position that was told last, and where its text ends: so that nobody looks it up.
  struct Told {
    Offset at;
    std::uint64_t text_end = 0;
  };
  void append_json_chunk(const stream::TokenLog& log, const Chunk& chunk, std::string& out) const;
  void append_binary_chunk(const stream::TokenLog& log, const Chunk& chunk, std::string& out) const;
  void append_done(const stream::TokenLog& log, std::string& out) const;

  std::string id_;
  std::string json_id_;  // What stands for it in JSON; empty if that is the same.
  Told told_;
  std::uint32_t channel_;
  Subprotocol subprotocol_;
  ChunkExtras with_;
};

}  // namespace seedance::api
