#include "core/prepare_line.h"

#include <algorithm>
#include <utility>

namespace seedance::core {

void PrepareLine::enter(const std::string& tenant, const Request& request) {
  leave(tenant, request.number);
  Tenant& whose = tenants_[tenant];
  if (whose.requests.empty()) give_turn(tenant, whose, std::max(whose.turn.first, round_));
  whose.requests.emplace(request.number, request);
  ++size_;
  bytes_ += request.bytes;
}

void PrepareLine::leave(const std::string& tenant, std::uint64_t number) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end() || !found->second.requests.contains(number)) return;
  remove(found->second, number);
  if (!found->second.requests.empty()) return;
  turns_.erase(found->second.turn);
  if (found->second.turn.first <= round_) tenants_.erase(found);
}

std::optional<PrepareLine::Request> PrepareLine::first() const {
  if (turns_.empty()) return std::nullopt;
  return tenants_.at(turns_.begin()->second).requests.begin()->second;
}

void PrepareLine::take() {
  const auto node = turns_.extract(turns_.begin());
  const std::string& name = node.mapped();
  Tenant& tenant = tenants_.at(name);
  const bool next_round = std::exchange(round_, node.key().first) < node.key().first;
  remove(tenant, tenant.requests.begin()->first);
  tenant.turn.first = round_ + 1;
  if (!tenant.requests.empty()) give_turn(name, tenant, round_ + 1);
  // Where nobody waits, only who is being prepared would come before somebody else.
  if (!next_round && size_ > 0) return;
  std::erase_if(tenants_, [&](const auto& each) {
    const auto& [other, its] = each;
    return its.requests.empty() && (its.turn.first <= round_ || (size_ == 0 && other != name));
  });
}

void PrepareLine::give_turn(const std::string& name, Tenant& tenant, std::uint64_t round) {
  tenant.turn = {round, ++turns_given_};
  turns_.emplace(tenant.turn, name);
}

void PrepareLine::remove(Tenant& tenant, std::uint64_t number) {
  const auto request = tenant.requests.find(number);
  --size_;
  bytes_ -= request->second.bytes;
  tenant.requests.erase(request);
}

}  // namespace seedance::core
