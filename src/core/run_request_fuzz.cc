// What a journal says about how to run a stream again: any bytes are refused or are exactly
// what encodes to them.
#include "base/check.h"
#include "core/run_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance;
  const Bytes input = std::as_bytes(std::span{bytes, size});
  const auto request = core::decode_run_request(input);
  if (!request) return 0;
  SEEDANCE_CHECK(core::encode(*request) == as_text(input), "each byte is kept");
  return 0;
}
