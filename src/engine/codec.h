// The byte form of commands and events between the core and a worker process.
//
// A message is u32 size of the rest, u8 kind, body; little-endian, since both
// ends are one binary on one machine. Strings and lists carry a u32 count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/job.h"

namespace seedance::engine {

inline constexpr std::uint32_t kMessageBytesMax = 64U << 20;

void encode(const Command& command, std::string& out);
void encode(const Event& event, std::string& out);

// The body of one message, without its size.
Result<Command> decode_command(Bytes body);
Result<Event> decode_event(Bytes body);

// Cuts a byte stream into message bodies. Belongs to one thread.
class MessageReader {
 public:
  void feed(Bytes bytes);

  // The next whole body, valid until the next call of feed(); nothing when more
  // bytes are needed; corrupt when a size is over the limit (then for good).
  Result<std::optional<Bytes>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  // Of what was not given out yet.
};

}  // namespace seedance::engine
