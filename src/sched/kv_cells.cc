#include "sched/kv_cells.h"

#include <algorithm>
#include <unordered_map>

namespace seedance::sched {

void KvCells::compute(std::uint32_t slot, std::uint32_t tokens) {
  if (tokens == 0) return;
  std::vector<Run>& row = rows_[slot];
  if (row.empty() || !row.back().grows) row.push_back({.id = runs_++, .grows = true});
  row.back().tokens += tokens;
}

void KvCells::copy(std::uint32_t slot, std::uint32_t from, std::uint32_t tokens) {
  rows_[slot].clear();
  if (!shared_) return compute(slot, tokens);
  rows_[slot] = rows_[from];
  cut(slot, tokens);
  if (!rows_[slot].empty()) rows_[slot].back().grows = false;
}

void KvCells::cut(std::uint32_t slot, std::uint32_t tokens) {
  std::vector<Run>& row = rows_[slot];
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at].tokens <= tokens) {
      tokens -= row[at].tokens;
      continue;
    }
    row[at].tokens = tokens;  // Others may hold more of it.
    row[at].grows = false;
    row.resize(tokens > 0 ? at + 1 : at);
  }
}

std::uint64_t KvCells::count(std::span<const std::uint32_t> tokens) const {
  std::unordered_map<std::uint64_t, std::uint32_t> longest;  // By run.
  for (std::size_t slot = 0; slot < rows_.size(); ++slot) {
    std::uint32_t left = tokens[slot];
    for (const Run& run : rows_[slot]) {
      if (left == 0) break;
      const std::uint32_t held = std::min(left, run.tokens);
      std::uint32_t& most = longest[run.id];
      most = std::max(most, held);
      left -= held;
    }
  }
  std::uint64_t cells = 0;
  for (const auto& [run, held] : longest) cells += held;
  return cells;
}

}  // namespace seedance::sched
