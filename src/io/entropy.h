// The system's secure generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/id.h"
#include "base/time.h"

namespace seedance::io {

// Fresh random bytes, read from the kernel a few hundred at a time. No byte is
// given twice. Belongs to one thread.
class Entropy {
 public:
  Entropy() = default;
  Entropy(const Entropy&) = delete;
  Entropy& operator=(const Entropy&) = delete;

  void fill(std::span<std::uint8_t> out);
  std::uint64_t number();
  StreamId stream_id(WallTime now);

 private:
  std::array<std::uint8_t, 256> pool_{};
  std::size_t used_ = pool_.size();
};

}  // namespace seedance::io
