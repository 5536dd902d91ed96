// The bodies of the messages (base/message.h) between the core and a worker
// process: u8 kind, then the fields in the order of engine/job.h.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/job.h"

namespace seedance::engine {

// Append one whole message, size included.
void encode(const Command& command, std::string& out);
void encode(const Event& event, std::string& out);

// Corrupt when the body is not exactly what encode() writes.
Result<Command> decode_command(Bytes body);
Result<Event> decode_event(Bytes body);

}  // namespace seedance::engine
