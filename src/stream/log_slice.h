// Tokens of a log on their way to the journal.
#pragma once

#include <string>

#include "base/id.h"
#include "base/time.h"
#include "stream/journal_record.h"
#include "stream/token_log.h"

namespace seedance::stream {

// Tokens [from, to) of a stream's log. Belongs to the log's writer.
struct LogSlice {
  StreamId stream;
  Generation gen;
  const TokenLog& log;
  Offset from;
  Offset to;
  Duration to_wall;  // What makes the log's steady times the wall's.
};

// As a record keeps them.
Tokens to_tokens(const LogSlice& slice);

// Appends the TokensRecord of the slice, straight from the log: allocates nothing but room
// in `out`, and with logprobs their copies.
void encode(const LogSlice& slice, std::string& out);

}  // namespace seedance::stream
