// What a worker process says, and what it is told: any bytes, in any pieces, are refused or
// are exactly what encodes to them.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/message.h"
#include "engine/codec.h"

using namespace seedance;

namespace {

template <typename Message>
void same_again(const Result<Message>& message, Bytes body) {
  if (!message) return;
  std::string again;
  engine::encode(*message, again);
  SEEDANCE_CHECK(again.substr(sizeof(std::uint32_t)) == as_text(body), "each byte is kept");
}

// Of all whole messages in the stream, until one is refused.
std::string bodies(Bytes stream, std::size_t piece_bytes) {
  MessageReader reader;
  std::string out;
  while (!stream.empty()) {
    const std::size_t size = std::min(piece_bytes, stream.size());
    reader.feed(stream.first(size));
    stream = stream.subspan(size);
    for (;;) {
      const auto body = reader.next();
      if (!body) return out + "!";
      if (!*body) break;
      same_again(engine::decode_event(**body), **body);
      out += std::to_string((*body)->size()) + ":" + std::string{as_text(**body)};
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Bytes input = std::as_bytes(std::span{bytes, size});
  same_again(engine::decode_command(input), input);
  same_again(engine::decode_event(input), input);
  SEEDANCE_CHECK(bodies(input, size) == bodies(input, 3), "pieces make no difference");
  return 0;
}
