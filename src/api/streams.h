// GET /v1/streams, GET and DELETE /v1/streams/{id}: a client's own streams.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/native.h"
#include "api/openai.h"
#include "api/request.h"
#include "base/error_code.h"
#include "base/id.h"
#include "core/messages.h"

namespace seedance::api {

// How a stream is to be shown, and from where.
struct StreamQuery {
  Offset from;  // The token wanted next.
  std::optional<Epoch> epoch = {};
  std::optional<core::Surface> as = {};  // None = the API that it was asked by.
  ChunkExtras with = {};                 // Of native messages.

  friend bool operator==(const StreamQuery&, const StreamQuery&) = default;
};

// Reads what follows the '?' of a target, still percent-encoded, and the header
// Last-Event-ID; both may be empty. The header counts more than `from` and `epoch`:
// a browser that comes back sends the address it began with.
Parsed<StreamQuery> parse_stream_query(StreamId stream, std::string_view query,
                                       std::string_view last_event_id);

// Why the stream cannot be shown so.
std::optional<Problem> why_not_shown(const StreamQuery& query, const core::Resumed& resumed);

HttpAnswer streams_answer(const core::StreamList& list);
HttpAnswer cancelled_answer(StreamId stream);

// Nothing when `text` is no percent-encoding.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace seedance::api
