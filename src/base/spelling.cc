#include "base/spelling.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace seedance {

// Wagner and Fischer's.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

Nearest::Nearest(std::string_view wrong)
    : wrong_(wrong),
      beyond_(wrong.size() > kSpelledBytesMax ? 0
                                              : std::max<std::size_t>(2, wrong.size() / 3) + 1) {}

void Nearest::offer(std::string_view name, std::string_view spelling) {
  if (beyond_ == 0) return;
  const std::size_t away = edit_distance(wrong_, spelling);
  if (away >= beyond_) return;
  beyond_ = away;
  name_ = name;
}

}  // namespace seedance
