#include "base/crc32c.h"

#include <array>
#include <cstddef>

#if defined(__aarch64__) && defined(__linux__)
// Of the C library. Its header is the system's, and this is all that is wanted of it.
extern "C" unsigned long getauxval(unsigned long type) noexcept;
#endif

namespace seedance {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits in reverse.
constexpr std::size_t kWord = sizeof(std::uint64_t);
[[maybe_unused]] constexpr std::size_t kHalf = sizeof(std::uint32_t);  // By instruction only.

// Table k: what a byte does to the CRC that k more bytes follow.
using Tables = std::array<std::array<std::uint32_t, 256>, kWord>;

consteval Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kWord; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t next_byte(std::uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 255];
}

#if defined(__x86_64__)

bool has_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(Bytes bytes, std::uint32_t seed) {
  std::uint64_t crc = ~seed;
  for (; bytes.size() >= kWord; bytes = bytes.subspan(kWord)) {
    crc = __builtin_ia32_crc32di(crc, load<std::uint64_t>(bytes.data(), std::endian::little));
  }
  auto last = static_cast<std::uint32_t>(crc);
  if (bytes.size() >= kHalf) {
    last = __builtin_ia32_crc32si(last, load<std::uint32_t>(bytes.data(), std::endian::little));
    bytes = bytes.subspan(kHalf);
  }
  for (const std::byte byte : bytes) {
    last = __builtin_ia32_crc32qi(last, std::to_integer<unsigned char>(byte));
  }
  return ~last;
}

#elif defined(__aarch64__) && defined(__linux__)

bool has_instruction() {
  constexpr unsigned long kHwcap = 16;      // AT_HWCAP
  constexpr unsigned long kCrc32 = 1 << 7;  // HWCAP_CRC32
  return (getauxval(kHwcap) & kCrc32) != 0;
}

[[gnu::target("crc")]] std::uint32_t by_instruction(Bytes bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  for (; bytes.size() >= kWord; bytes = bytes.subspan(kWord)) {
    crc = __builtin_arm_crc32cd(crc, load<std::uint64_t>(bytes.data(), std::endian::little));
  }
  if (bytes.size() >= kHalf) {
    crc = __builtin_arm_crc32cw(crc, load<std::uint32_t>(bytes.data(), std::endian::little));
    bytes = bytes.subspan(kHalf);
  }
  for (const std::byte byte : bytes) {
    crc = __builtin_arm_crc32cb(crc, std::to_integer<unsigned char>(byte));
  }
  return ~crc;
}

#else

bool has_instruction() {
  return false;
}

std::uint32_t by_instruction(Bytes bytes, std::uint32_t seed) {
  return crc32c_by_tables(bytes, seed);
}

#endif

}  // namespace

std::uint32_t crc32c_by_tables(Bytes bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  for (; bytes.size() >= kWord; bytes = bytes.subspan(kWord)) {
    const std::uint64_t word = load<std::uint64_t>(bytes.data(), std::endian::little) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < kWord; ++k) crc ^= kTables[kWord - 1 - k][(word >> (8 * k)) & 255];
  }
  for (const std::byte byte : bytes) crc = next_byte(crc, byte);
  return ~crc;
}

const bool kByInstruction = has_instruction();

std::uint32_t crc32c(Bytes bytes, std::uint32_t seed) {
  return kByInstruction ? by_instruction(bytes, seed) : crc32c_by_tables(bytes, seed);
}

}  // namespace seedance
