// Any bytes as a compressed message: bounded output, no crash, and what comes out
// goes in and out again. As a list of extensions: an answer that is in range.
#include <string>

#include "base/check.h"
#include "wire/deflate.h"
#include "wire/ws_extension.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance;
  constexpr std::size_t kBytesMax = 4096;
  static wire::Deflater deflater;
  static wire::Inflater inflater;
  const Bytes input = std::as_bytes(std::span{bytes, size});
  std::string message;
  const auto status = inflater.inflate(input, kBytesMax, message);
  SEEDANCE_CHECK(message.size() <= kBytesMax, "output is bounded");
  if (status == wire::Inflater::Status::whole) {
    const wire::DeflateOptions options{.level = 1 + static_cast<int>(size % 9),
                                       .window_bits = 8 + static_cast<int>(size % 8)};
    std::string again;
    deflater.compress(as_bytes(message), options, again);
    std::string back;
    SEEDANCE_CHECK(
        inflater.inflate(as_bytes(again), message.size(), back) == wire::Inflater::Status::whole &&
            back == message,
        "in and out again");
  }
  wire::HttpRequest request;
  request.headers = {{"Sec-WebSocket-Extensions", std::string{as_text(input)}}};
  if (const auto agreed = wire::choose_deflate(request); agreed && *agreed) {
    SEEDANCE_CHECK((*agreed)->server_window_bits >= 8 && (*agreed)->server_window_bits <= 15,
                   "window bits are in range");
  }
  return 0;
}
