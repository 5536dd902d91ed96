#include "io/entropy.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/check.h"

namespace seedance::io {

void Entropy::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    if (used_ == pool_.size()) {
      ssize_t got = 0;
      // Up to 256 bytes come whole or not at all (getrandom(2)).
      do got = getrandom(pool_.data(), pool_.size(), 0);
      while (got < 0 && errno == EINTR);
      SEEDANCE_CHECK(got == static_cast<ssize_t>(pool_.size()), "the kernel gives random bytes");
      used_ = 0;
    }
    const std::size_t count = std::min(out.size(), pool_.size() - used_);
    std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(used_), count, out.begin());
    std::fill_n(pool_.begin() + static_cast<std::ptrdiff_t>(used_), count, std::uint8_t{0});
    used_ += count;
    out = out.subspan(count);
  }
}

std::uint64_t Entropy::number() {
  std::array<std::uint8_t, 8> bytes{};
  fill(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

StreamId Entropy::stream_id(WallTime now) {
  std::array<std::uint8_t, 10> bytes{};
  fill(bytes);
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  return make_stream_id(static_cast<std::uint64_t>(wall.count()), bytes);
}

}  // namespace seedance::io
