#include "server/shares.h"

namespace seedance::server {

std::optional<Shares::Place> Shares::take(const std::string& party, std::uint32_t most) {
  if (party.empty()) return Place{};
  const std::lock_guard lock{mutex_};
  const auto [entry, added] = parties_.try_emplace(party, Party{.of = this, .name = {}});
  Party& found = entry->second;
  if (added) found.name = entry->first;
  if (most > 0 && found.count >= most) return std::nullopt;
  ++found.count;
  return Place{&found};
}

void Shares::give_back(Party& party) {
  const std::lock_guard lock{mutex_};
  if (--party.count == 0) parties_.erase(parties_.find(std::string{party.name}));
}

std::size_t Shares::size() const {
  const std::lock_guard lock{mutex_};
  return parties_.size();
}

}  // namespace seedance::server
