// CRC32C: the checksum of everything that the journal keeps.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace seedance {

// The CRC with the polynomial of Castagnoli, as in iSCSI (RFC 3720, section 12.1
// and appendix B.4), by the CPU's own instruction where it has one.
//
// `seed` is the CRC of the bytes before, so that a text can come in pieces:
// crc32c(b, crc32c(a)) is that of a and b together.
std::uint32_t crc32c(Bytes bytes, std::uint32_t seed = 0);

// The same from tables alone, on any CPU.
std::uint32_t crc32c_by_tables(Bytes bytes, std::uint32_t seed = 0);

}  // namespace seedance
