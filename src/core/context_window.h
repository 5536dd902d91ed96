// Which part of a long stream its engine sees.
#pragma once

#include <cstdint>

namespace seedance::core {

// The rule of Overflow::shift. When prompt and answer fill the context, half of what is behind the
// first `keep` tokens is dropped, the oldest; when it is full again, as many more. So how much was
// dropped is a function of how many tokens there are, and whoever continues the stream, after
// whatever died, cuts in the same places.
struct ContextWindow {
  std::uint32_t context = 0;  // Tokens that the engine sees at most; 0 = nothing is dropped.
  std::uint32_t keep = 0;     // At most half of them.

  // So many are dropped of prompt and answer, of so many tokens together, before the next is made.
  std::uint64_t dropped(std::uint64_t tokens) const;

  // At so many tokens more are dropped.
  std::uint64_t next_cut(std::uint64_t tokens) const;

  friend bool operator==(const ContextWindow&, const ContextWindow&) = default;
};

}  // namespace seedance::core
