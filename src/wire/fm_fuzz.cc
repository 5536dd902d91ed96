// Any bytes: no crash, and what decodes encodes to the same bytes.
#include "base/check.h"
#include "wire/fm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance::wire;
  const seedance::Bytes input = std::as_bytes(std::span{bytes, size});
  const auto frame = decode_fm(input);
  if (!frame) return 0;
  std::string again;
  append_fm(again, {.channel = frame->channel,
                    .seq = frame->seq,
                    .tokens = frame->tokens,
                    .marks = frame->marks,
                    .ids = frame->ids,
                    .logprobs = frame->logprobs,
                    .text = frame->text});
  SEEDANCE_CHECK(again == seedance::as_text(input), "each byte is kept");
  return 0;
}
