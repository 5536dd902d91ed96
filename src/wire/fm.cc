#include "wire/fm.h"

#include <bit>

#include "base/check.h"
#include "base/unicode.h"

namespace seedance::wire {
namespace {

constexpr std::uint8_t kFinal = 1;
constexpr std::uint8_t kUsage = 2;
constexpr std::uint8_t kError = 4;
constexpr std::uint8_t kIds = 8;
constexpr std::uint8_t kLogprobs = 16;
constexpr std::uint8_t kKnownFlags = kFinal | kUsage | kError | kIds | kLogprobs;

constexpr std::endian kOrder = std::endian::big;

std::uint8_t flags_of(const FmChunk& chunk) {
  return static_cast<std::uint8_t>(
      (chunk.marks.final ? kFinal : 0) | (chunk.marks.usage ? kUsage : 0) |
      (chunk.marks.error ? kError : 0) | (chunk.ids.empty() ? 0 : kIds) |
      (chunk.logprobs.empty() ? 0 : kLogprobs));
}

std::size_t payload_bytes(const FmChunk& chunk) {
  return sizeof(std::uint16_t) + chunk.ids.size_bytes() + chunk.logprobs.size_bytes() +
         chunk.text.size();
}

}  // namespace

std::size_t fm_bytes(const FmChunk& chunk) {
  return kFmHeaderBytes + payload_bytes(chunk);
}

void append_fm(std::string& out, const FmChunk& chunk) {
  SEEDANCE_CHECK(chunk.ids.empty() || chunk.ids.size() == chunk.tokens, "one id a token");
  SEEDANCE_CHECK(chunk.logprobs.empty() || chunk.logprobs.size() == chunk.tokens,
                 "one logprob a token");
  SEEDANCE_CHECK(chunk.text.size() <= UINT32_MAX / 2, "text fits the length field");
  append(out, kFmMagic, kOrder);
  append(out, kFmVersion, kOrder);
  append(out, flags_of(chunk), kOrder);
  append(out, chunk.channel, kOrder);
  append(out, chunk.seq, kOrder);
  append(out, static_cast<std::uint32_t>(payload_bytes(chunk)), kOrder);
  append(out, chunk.tokens, kOrder);
  for (const TokenId id : chunk.ids) append(out, id.value, kOrder);
  for (const float logprob : chunk.logprobs) {
    append(out, std::bit_cast<std::uint32_t>(logprob), kOrder);
  }
  out += chunk.text;
}

Result<FmFrame> decode_fm(Bytes bytes) {
  if (bytes.size() < kFmHeaderBytes) return fail(Errc::truncated, "frame header");
  const auto flags = load<std::uint8_t>(&bytes[3], kOrder);
  if (load<std::uint16_t>(&bytes[0], kOrder) != kFmMagic) return fail(Errc::corrupt, "magic");
  if (load<std::uint8_t>(&bytes[2], kOrder) != kFmVersion) return fail(Errc::corrupt, "version");
  if ((flags & ~kKnownFlags) != 0) return fail(Errc::corrupt, "flags");

  const auto length = load<std::uint32_t>(&bytes[12], kOrder);
  const Bytes payload = bytes.subspan(kFmHeaderBytes);
  if (payload.size() < length) return fail(Errc::truncated, "payload");
  if (payload.size() > length) return fail(Errc::corrupt, "bytes behind the payload");
  if (length < sizeof(std::uint16_t)) return fail(Errc::corrupt, "payload length");

  FmFrame frame{
      .channel = load<std::uint32_t>(&bytes[4], kOrder),
      .seq = load<std::uint32_t>(&bytes[8], kOrder),
      .tokens = load<std::uint16_t>(payload.data(), kOrder),
      .marks = {.final = (flags & kFinal) != 0,
                .usage = (flags & kUsage) != 0,
                .error = (flags & kError) != 0},
  };
  Bytes rest = payload.subspan(sizeof(std::uint16_t));
  // n values of four bytes, in front of the rest.
  const auto take = [&](std::uint8_t flag) -> Bytes {
    if ((flags & flag) == 0) return {};
    const Bytes values = rest.first(4 * std::size_t{frame.tokens});
    rest = rest.subspan(values.size());
    return values;
  };
  const auto columns =
      static_cast<std::size_t>(std::popcount(static_cast<unsigned>(flags & (kIds | kLogprobs))));
  if (rest.size() < columns * 4 * frame.tokens) return fail(Errc::corrupt, "token count");
  if (columns > 0 && frame.tokens == 0) return fail(Errc::corrupt, "flags without tokens");

  const Bytes ids = take(kIds);
  for (std::size_t at = 0; at < ids.size(); at += 4) {
    frame.ids.push_back({load<std::int32_t>(&ids[at], kOrder)});
  }
  const Bytes logprobs = take(kLogprobs);
  for (std::size_t at = 0; at < logprobs.size(); at += 4) {
    frame.logprobs.push_back(std::bit_cast<float>(load<std::uint32_t>(&logprobs[at], kOrder)));
  }
  frame.text = as_text(rest);
  if (!is_utf8(frame.text)) return fail(Errc::corrupt, "text is not UTF-8");
  return frame;
}

}  // namespace seedance::wire
