// Any bytes, in any cuts: no crash, and the same requests and refusal as in one
// piece. The first byte chooses limits and cut.
#include <string>
#include <vector>

#include "base/check.h"
#include "wire/http.h"
#include "wire/ws_handshake.h"

namespace seedance::wire {
namespace {

struct Outcome {
  std::vector<HttpRequest> requests;
  std::optional<HttpError> error;
  bool started = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(std::string_view bytes, std::size_t piece_bytes, const HttpLimits& limits) {
  HttpParser parser{limits};
  Outcome outcome;
  std::string left;  // As the owner keeps it.
  while (!bytes.empty() && !parser.error()) {
    left += bytes.substr(0, piece_bytes);
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    while (!left.empty() && !parser.error()) {
      left.erase(0, parser.on_input(as_bytes(left)));
      if (parser.complete()) outcome.requests.push_back(parser.take());
    }
  }
  outcome.error = parser.error();
  outcome.started = parser.started();
  return outcome;
}

}  // namespace
}  // namespace seedance::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance::wire;
  if (size < 1) return 0;
  HttpLimits limits;
  if ((bytes[0] & 1U) != 0) {
    limits = {
        .target_bytes_max = 32, .head_bytes_max = 256, .headers_max = 8, .body_bytes_max = 16};
  }
  const std::string_view input{reinterpret_cast<const char*>(bytes) + 1, size - 1};
  const Outcome whole = run(input, size, limits);
  SEEDANCE_CHECK(whole == run(input, std::size_t{1} + (bytes[0] >> 1U) % 16U, limits),
                 "cuts change nothing");
  for (const HttpRequest& request : whole.requests) {
    SEEDANCE_CHECK(request.body.size() <= limits.body_bytes_max, "the body is bounded");
    static constexpr std::string_view kProtocols[] = {"a", "b"};
    const auto upgrade = check_upgrade(request, kProtocols);
    SEEDANCE_CHECK(!upgrade || upgrade->protocol.size() <= 1, "only ours is chosen");
  }
  static_cast<void>(check_upgrade_response(seedance::as_bytes(input), "", "a"));
  return 0;
}
