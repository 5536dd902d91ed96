#include "core/context_window.h"

#include <algorithm>
#include <limits>

namespace seedance::core {

std::uint64_t ContextWindow::dropped(std::uint64_t tokens) const {
  if (context == 0 || tokens < context) return 0;
  const std::uint64_t half = std::max(1U, (context - std::min(keep, context)) / 2);
  return half * ((tokens - context) / half + 1);
}

std::uint64_t ContextWindow::next_cut(std::uint64_t tokens) const {
  return context == 0 ? std::numeric_limits<std::uint64_t>::max() : context + dropped(tokens);
}

}  // namespace seedance::core
