// Borrowed bytes and fixed-width integers in them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace seedance {

// Borrowed, valid as long as whoever lent it says.
using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Unaligned loads and appends. `order` is that of the format, not of the machine.
template <std::integral T>
constexpr T to_order(T value, std::endian order) {
  if constexpr (sizeof(T) == 1) return value;
  return order == std::endian::native ? value : std::byteswap(value);
}

template <std::integral T>
T load(const std::byte* from, std::endian order) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return to_order(value, order);
}

template <std::integral T>
void append(std::string& out, T value, std::endian order) {
  value = to_order(value, order);
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace seedance
