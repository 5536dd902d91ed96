// What the journal keeps of streams: docs/formats/journal.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "stream/record.h"

namespace seedance::stream {

// Of one run of the machine, from start to power loss: the system makes it up.
using BootId = std::array<std::uint8_t, 16>;

// What is known of a stream when it is accepted, and who may append to it now.
struct StreamHeader {
  StreamId stream;
  Epoch epoch;
  Generation gen;
  WallTime created;
  std::string tenant;
  std::string key;           // Its idempotency key; empty = none.
  Sha256 body = {};          // Of the request, to compare with when the key comes again.
  std::string model;         // name@version.
  std::string model_digest;  // Of the weights; a stream is continued on no others.
  std::uint32_t prompt_tokens = 0;
  bool with_logprobs = false;
  bool keep = true;     // Its client can come back to it.
  std::string request;  // What it takes to run it. Only the core reads it.

  friend bool operator==(const StreamHeader&, const StreamHeader&) = default;
};

// Tokens of one stream, one after the other.
struct Tokens {
  std::vector<TokenId> ids;
  std::vector<WallTime> times;            // When each was appended.
  std::vector<std::uint32_t> text_bytes;  // That each made visible.
  std::string text;                       // All of it.
  std::vector<TokenLogprobs> logprobs;    // One for each token, or none at all.

  friend bool operator==(const Tokens&, const Tokens&) = default;
};

struct Ended {
  Terminal terminal;
  WallTime at;

  friend bool operator==(const Ended&, const Ended&) = default;
};

// The whole stream so far: what comes first of every stream, and again when it is
// copied forward out of an old segment. Replaces what came before it.
struct StateRecord {
  StreamHeader header;
  Tokens tokens;
  std::optional<Ended> ended;
  std::uint32_t server_starts = 0;  // Since its last token.

  friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

// The next tokens. `from` is how many were there before.
struct TokensRecord {
  StreamId stream;
  Generation gen;
  Offset from;
  Tokens tokens;

  friend bool operator==(const TokensRecord&, const TokensRecord&) = default;
};

struct EndRecord {
  StreamId stream;
  Generation gen;
  Ended ended;

  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};

// From here on only `gen` may append, to the log's incarnation `epoch`.
struct DriveRecord {
  enum class Cause : std::uint8_t {
    engine,   // Its engine died.
    server,   // The server started again.
    context,  // Its context was full: the oldest part of prompt and answer was dropped.
  };
  StreamId stream;
  Generation gen;
  Epoch epoch;
  Cause cause = Cause::engine;

  friend bool operator==(const DriveRecord&, const DriveRecord&) = default;
};

// The stream is not kept any more.
struct ForgetRecord {
  StreamId stream;

  friend bool operator==(const ForgetRecord&, const ForgetRecord&) = default;
};

// Everything before it in its segment, and every earlier segment, was on the disk
// when it was written.
struct SyncRecord {
  BootId boot = {};  // That of its segment, so that no client's text can pass for a mark.
  WallTime at;

  friend bool operator==(const SyncRecord&, const SyncRecord&) = default;
};

using JournalRecord =
    std::variant<StateRecord, TokensRecord, EndRecord, DriveRecord, ForgetRecord, SyncRecord>;

// How a record stands in a segment: a header with its own checksum, then the body.
inline constexpr std::size_t kRecordHeaderBytes = 16;
inline constexpr std::uint32_t kRecordBytesMax = 256U << 20;
inline constexpr std::uint32_t kSyncRecordBytes = kRecordHeaderBytes + 24;

// Appends one record in its frame. Allocates nothing but room in `out`.
void encode(const JournalRecord& record, std::string& out);
void encode(const StateRecord& record, std::string& out);
void encode(const TokensRecord& record, std::string& out);
void encode(const EndRecord& record, std::string& out);
void encode(const DriveRecord& record, std::string& out);
void encode(const ForgetRecord& record, std::string& out);
void encode(const SyncRecord& record, std::string& out);

// The record at the front of `bytes`, and the bytes that it takes. `truncated`
// when the bytes end within it; `corrupt` when a checksum or a field is wrong.
struct DecodedRecord {
  JournalRecord record;
  std::size_t bytes = 0;
};
Result<DecodedRecord> decode_record(Bytes bytes);

// The same into `record`, whose memory is used again; gives the bytes. After a
// failure `record` is anything.
Result<std::size_t> decode_record(Bytes bytes, JournalRecord& record);

// In one line for a person, without text of prompt or answer.
std::string describe(const JournalRecord& record);

// The front of every segment file.
struct SegmentHeader {
  std::uint32_t segment = 0;  // Its number, from 1 and without gaps.
  BootId boot = {};           // The machine's when it was begun.
  WallTime created;
  bool synced_always = false;  // Nothing in it counted as written before it was on the disk.

  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

inline constexpr std::size_t kSegmentHeaderBytes = 64;

void encode(const SegmentHeader& header, std::string& out);
// `truncated` when there are fewer bytes, `corrupt` otherwise.
Result<SegmentHeader> decode_segment_header(Bytes bytes);

// "0000000042.journal"; nothing for names that are no segment's.
std::string segment_name(std::uint32_t segment);
std::optional<std::uint32_t> parse_segment_name(std::string_view name);

}  // namespace seedance::stream
