// Any bytes from a client give a message whose numbers are in range, or a refusal
// that can be sent.
#include <cstdint>

#include "api/native.h"
#include "api/request_check.h"
#include "base/check.h"
#include "wire/ws_frame.h"

using namespace seedance;
using namespace seedance::api;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(bytes), size};
  for (const Subprotocol subprotocol : {Subprotocol::json, Subprotocol::binary}) {
    const ClientMessage message = parse_client_message(text, subprotocol);
    if (const auto* infer = std::get_if<InferRequest>(&message)) {
      SEEDANCE_CHECK(!infer->id.empty(), "a stream has a name");
      check_request(infer->request);
      SEEDANCE_CHECK(infer->request.key.size() <= kKeyBytesMax, "a key is bounded");
    } else if (const auto* refused = std::get_if<NativeRefusal>(&message)) {
      check_problem(refused->problem);
      std::string out;
      append_error(out, refused->id, std::nullopt, refused->problem);
      const auto decoded = wire::decode_frame_header(as_bytes(out));
      SEEDANCE_CHECK(decoded.status == wire::FrameStatus::whole, "a refusal is a frame");
      check_json(std::string_view{out}.substr(decoded.header.header_bytes));
    } else if (const auto* resume = std::get_if<ResumeRequest>(&message)) {
      SEEDANCE_CHECK(!resume->id.empty(), "a stream has a name");
      SEEDANCE_CHECK(resume->epoch || resume->from == Offset{0}, "a position needs an epoch");
    } else if (const auto* ack = std::get_if<AckRequest>(&message)) {
      SEEDANCE_CHECK(ack->id.empty() == ack->stream.has_value(), "an ack has one name");
    } else if (const auto* cancel = std::get_if<CancelRequest>(&message)) {
      SEEDANCE_CHECK(cancel->id.empty() == cancel->stream.has_value(), "a cancel has one name");
    }
  }
  return 0;
}
