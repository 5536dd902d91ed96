#include "wire/ws_frame.h"

#include <cstring>

namespace seedance::wire {
namespace {

constexpr std::uint8_t kFinBit = 0x80;
constexpr std::uint8_t kReservedBits = 0x70;
constexpr std::uint8_t kCompressedBit = 0x40;  // RSV1.
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

bool is_known(std::uint8_t opcode) {
  return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA);
}

// A length must be in its shortest form, and below 2^63 (section 5.2).
bool is_proper_length(std::uint8_t form, std::uint64_t length) {
  if (form == kLength16) return length >= kLength16;
  return length > UINT16_MAX && (length >> 63U) == 0;
}

// RSV1 marks the first frame of a data message, and no other (RFC 7692 section 6).
bool may_be_compressed(std::uint8_t opcode) {
  return opcode == 0x1 || opcode == 0x2;
}

std::size_t write_header(char* header, Opcode opcode, Fin fin, std::size_t payload_bytes,
                         std::uint8_t mask_bit, Compressed compressed) {
  std::size_t size = 2;
  header[0] = static_cast<char>((fin == Fin::yes ? kFinBit : 0) |
                                (compressed == Compressed::yes ? kCompressedBit : 0) |
                                static_cast<unsigned>(opcode));
  if (payload_bytes <= kControlPayloadMax) {
    header[1] = static_cast<char>(mask_bit | payload_bytes);
  } else if (payload_bytes <= UINT16_MAX) {
    header[1] = static_cast<char>(mask_bit | kLength16);
    const auto length = to_order(static_cast<std::uint16_t>(payload_bytes), std::endian::big);
    std::memcpy(header + 2, &length, sizeof length);
    size += sizeof length;
  } else {
    header[1] = static_cast<char>(mask_bit | kLength64);
    const auto length = to_order(static_cast<std::uint64_t>(payload_bytes), std::endian::big);
    std::memcpy(header + 2, &length, sizeof length);
    size += sizeof length;
  }
  return size;
}

}  // namespace

bool is_sendable_close_code(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

DecodedHeader decode_frame_header(Bytes input, Compressed allowed) {
  constexpr DecodedHeader kMalformed{FrameStatus::malformed, {}};
  if (input.empty()) return {};
  const auto first = std::to_integer<std::uint8_t>(input[0]);
  const auto opcode = static_cast<std::uint8_t>(first & 0x0FU);
  const bool takes_rsv1 = allowed == Compressed::yes && may_be_compressed(opcode);
  const unsigned reserved = takes_rsv1 ? kReservedBits & ~unsigned{kCompressedBit} : kReservedBits;
  if ((first & reserved) != 0 || !is_known(opcode)) return kMalformed;

  DecodedHeader decoded;
  FrameHeader& header = decoded.header;
  header.opcode = Opcode{opcode};
  header.fin = (first & kFinBit) != 0 ? Fin::yes : Fin::no;
  header.compressed = (first & kCompressedBit) != 0 ? Compressed::yes : Compressed::no;
  if (is_control(header.opcode) && header.fin == Fin::no) return kMalformed;
  if (input.size() < 2) return decoded;

  const auto second = std::to_integer<std::uint8_t>(input[1]);
  const bool masked = (second & kMaskBit) != 0;
  const auto form = static_cast<std::uint8_t>(second & ~kMaskBit);
  if (is_control(header.opcode) && form > kControlPayloadMax) return kMalformed;

  std::size_t size = 2;
  header.payload_bytes = form;
  if (form >= kLength16) {
    const std::size_t width = form == kLength16 ? 2 : 8;
    if (input.size() < size + width) return decoded;
    header.payload_bytes = form == kLength16 ? load<std::uint16_t>(&input[size], std::endian::big)
                                             : load<std::uint64_t>(&input[size], std::endian::big);
    if (!is_proper_length(form, header.payload_bytes)) return kMalformed;
    size += width;
  }
  if (masked) {
    if (input.size() < size + sizeof(MaskKey)) return decoded;
    header.mask.emplace();
    std::memcpy(header.mask->data(), &input[size], sizeof(MaskKey));
    size += sizeof(MaskKey);
  }
  header.header_bytes = static_cast<std::uint8_t>(size);
  decoded.status = FrameStatus::whole;
  return decoded;
}

std::size_t write_frame_header(char* to, Opcode opcode, Fin fin, std::size_t payload_bytes,
                               Compressed compressed) {
  return write_header(to, opcode, fin, payload_bytes, 0, compressed);
}

void append_frame_header(std::string& out, Opcode opcode, Fin fin, std::size_t payload_bytes,
                         Compressed compressed) {
  char header[kFrameHeaderMax];
  out.append(header, write_frame_header(header, opcode, fin, payload_bytes, compressed));
}

void append_masked_frame(std::string& out, Opcode opcode, Fin fin, std::string_view payload,
                         MaskKey mask, Compressed compressed) {
  char header[kFrameHeaderMax];
  out.append(header, write_header(header, opcode, fin, payload.size(), kMaskBit, compressed));
  out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  const std::size_t begin = out.size();
  out += payload;
  apply_mask(std::as_writable_bytes(std::span{out}.subspan(begin)), mask, 0);
}

void apply_mask(std::span<std::byte> payload, MaskKey mask, std::uint64_t offset) {
  std::byte key[8];
  for (std::size_t i = 0; i < sizeof key; ++i) key[i] = mask[(offset + i) % mask.size()];
  std::uint64_t key_word = 0;
  std::memcpy(&key_word, key, sizeof key);

  std::byte* at = payload.data();
  std::size_t left = payload.size();
  for (; left >= sizeof key_word; at += sizeof key_word, left -= sizeof key_word) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= key_word;
    std::memcpy(at, &word, sizeof word);
  }
  for (std::size_t i = 0; i < left; ++i) at[i] ^= key[i];
}

}  // namespace seedance::wire
