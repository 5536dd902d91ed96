// Any bytes are refused or are exactly what encode() writes.
#include <cstdint>

#include "base/check.h"
#include "text/codec.h"

namespace {

template <typename Message>
void check_same(const Message& message, std::string_view body) {
  std::string again;
  encode(message, again);
  SEEDANCE_CHECK(std::string_view{again}.substr(4) == body, "decoding loses nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body{reinterpret_cast<const char*>(bytes), size};
  const auto request = seedance::text::decode_prepare_request(seedance::as_bytes(body));
  if (request) check_same(*request, body);
  const auto event = seedance::text::decode_vocabulary_event(seedance::as_bytes(body));
  if (event) check_same(*event, body);
  return 0;
}
