#include "wire/ws_frame.h"

#include <gtest/gtest.h>

namespace seedance::wire {
namespace {

constexpr MaskKey kMask{std::byte{0x37}, std::byte{0xFA}, std::byte{0x21}, std::byte{0x3D}};

DecodedHeader decode(std::string_view bytes) {
  return decode_frame_header(as_bytes(bytes));
}

std::string header(Opcode opcode, Fin fin, std::size_t payload_bytes) {
  std::string out;
  append_frame_header(out, opcode, fin, payload_bytes);
  return out;
}

TEST(FrameHeader, ReadsBackWhatItWrites) {
  for (const std::size_t size : {0UL, 1UL, 125UL, 126UL, 127UL, 65535UL, 65536UL, 1UL << 40U}) {
    for (const Fin fin : {Fin::no, Fin::yes}) {
      for (const Opcode opcode : {Opcode::text, Opcode::binary, Opcode::continuation}) {
        const std::string bytes = header(opcode, fin, size);
        EXPECT_EQ(bytes.size(), size < 126 ? 2U : size <= UINT16_MAX ? 4U : 10U);
        const DecodedHeader decoded = decode(bytes);
        ASSERT_EQ(decoded.status, FrameStatus::whole);
        EXPECT_EQ(decoded.header,
                  (FrameHeader{static_cast<std::uint8_t>(bytes.size()), opcode, fin, {}, size}));
      }
    }
  }
}

TEST(FrameHeader, NeedsMoreAtEveryCut) {
  for (const std::size_t size : {5UL, 300UL, 70'000UL}) {
    std::string frame;
    append_masked_frame(frame, Opcode::text, Fin::yes, std::string(size, 'x'), kMask);
    const std::size_t whole = frame.size() - size;
    for (std::size_t cut = 0; cut < whole; ++cut) {
      EXPECT_EQ(decode(frame.substr(0, cut)).status, FrameStatus::need_more) << cut;
    }
    const DecodedHeader decoded = decode(frame.substr(0, whole));
    ASSERT_EQ(decoded.status, FrameStatus::whole);
    EXPECT_EQ(decoded.header.mask, kMask);
    EXPECT_EQ(decoded.header.payload_bytes, size);
  }
}

TEST(FrameHeader, MarksCompressedMessagesWhereTheyAreAllowed) {
  std::string bytes;
  append_frame_header(bytes, Opcode::binary, Fin::no, 5, Compressed::yes);
  EXPECT_EQ(decode(bytes).status, FrameStatus::malformed);
  const DecodedHeader decoded = decode_frame_header(as_bytes(bytes), Compressed::yes);
  ASSERT_EQ(decoded.status, FrameStatus::whole);
  EXPECT_EQ(decoded.header, (FrameHeader{2, Opcode::binary, Fin::no, {}, 5, Compressed::yes}));
  for (const Opcode opcode : {Opcode::continuation, Opcode::close, Opcode::ping, Opcode::pong}) {
    bytes.clear();
    append_frame_header(bytes, opcode, Fin::yes, 0, Compressed::yes);
    EXPECT_EQ(decode_frame_header(as_bytes(bytes), Compressed::yes).status, FrameStatus::malformed);
  }
}

TEST(FrameHeader, RefusesReservedBitsAndOpcodes) {
  for (const unsigned bit : {0x40U, 0x20U, 0x10U}) {
    EXPECT_EQ(decode(std::string{static_cast<char>(0x81U | bit), 0}).status,
              FrameStatus::malformed);
  }
  for (unsigned opcode = 0; opcode < 16; ++opcode) {
    const bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
    EXPECT_EQ(decode(std::string{static_cast<char>(0x80U | opcode), 0}).status,
              known ? FrameStatus::whole : FrameStatus::malformed)
        << opcode;
  }
}

TEST(FrameHeader, RefusesControlFramesLongOrFragmented) {
  EXPECT_EQ(decode(std::string{'\x89', 125}).status, FrameStatus::whole);
  EXPECT_EQ(decode(std::string{'\x89', 126}).status, FrameStatus::malformed);
  EXPECT_EQ(decode(std::string{'\x89', 127}).status, FrameStatus::malformed);
  EXPECT_EQ(decode(std::string{'\x09', 0}).status, FrameStatus::malformed);
}

TEST(FrameHeader, RefusesLengthsThatAreNotShortest) {
  using namespace std::string_literals;
  EXPECT_EQ(decode("\x82\x7E\x00\x7E"s).status, FrameStatus::whole);
  EXPECT_EQ(decode("\x82\x7E\x00\x7D"s).status, FrameStatus::malformed);
  EXPECT_EQ(decode("\x82\x7F\0\0\0\0\0\x01\0\0"s).status, FrameStatus::whole);
  EXPECT_EQ(decode("\x82\x7F\0\0\0\0\0\0\xFF\xFF"s).status, FrameStatus::malformed);
}

TEST(FrameHeader, RefusesTheTopBitOfALength) {
  using namespace std::string_literals;
  EXPECT_EQ(decode("\x82\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s).status, FrameStatus::whole);
  EXPECT_EQ(decode("\x82\x7F\x80\0\0\0\0\0\0\0"s).status, FrameStatus::malformed);
}

// The example of RFC 6455 section 5.7.
TEST(MaskedFrame, IsThatOfTheStandard) {
  std::string frame;
  append_masked_frame(frame, Opcode::text, Fin::yes, "Hello", kMask);
  EXPECT_EQ(frame, "\x81\x85\x37\xFA\x21\x3D\x7F\x9F\x4D\x51\x58");
}

TEST(ApplyMask, AgreesWithOneByteAtATimeAtEveryOffset) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::uint64_t offset = 0; offset < 9; ++offset) {
      std::string payload(size, '\0');
      for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 7);
      std::string expected = payload;
      for (std::size_t i = 0; i < size; ++i) {
        expected[i] = static_cast<char>(std::byte(expected[i]) ^ kMask[(offset + i) % 4]);
      }
      apply_mask(std::as_writable_bytes(std::span{payload}), kMask, offset);
      EXPECT_EQ(payload, expected) << size << " " << offset;
    }
  }
}

TEST(CloseCode, KnowsWhichMayBeSent) {
  for (const int code : {1000, 1003, 1007, 1011, 1012, 1014, 3000, 4999}) {
    EXPECT_TRUE(is_sendable_close_code(static_cast<std::uint16_t>(code))) << code;
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    EXPECT_FALSE(is_sendable_close_code(static_cast<std::uint16_t>(code))) << code;
  }
}

}  // namespace
}  // namespace seedance::wire
