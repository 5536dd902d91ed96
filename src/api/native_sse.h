// A stream in the messages of the native protocol, over server-sent events.
#pragma once

#include <cstddef>
#include <string>

#include "api/delivery.h"
#include "api/native.h"
#include "api/openai.h"
#include "api/sse_events.h"
#include "core/messages.h"
#include "stream/token_log.h"

namespace seedance::api {

// INFER_CHUNK and INFER_DONE as unnamed events in pieces of a response body, behind
// one RESUMED that says where they begin. The messages have no `id`: there is one
// stream. Otherwise see ChatSseView, whose protocol it has.
class NativeSseView {
 public:
  NativeSseView(const core::Resumed& resumed, ChunkExtras with, BodyFraming framing);

  Rendered render(const stream::TokenLog& log, stream::Cursor& cursor, std::string& out,
                  std::size_t bytes_max);

 private:
  void append_chunk(const stream::TokenLog& log, Offset from, Offset to, std::string& out) const;

  EventIds ids_;
  std::string resumed_;  // The event that is still to be said.
  ChunkExtras with_;
  BodyFraming framing_;
};

}  // namespace seedance::api
