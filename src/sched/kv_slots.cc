#include "sched/kv_slots.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace seedance::sched {
namespace {

std::uint32_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::uint32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

KvSlots::KvSlots(KvLimits limits)
    : limits_(limits), contents_(limits.count), cells_(limits.count, !limits.dense) {
  SEEDANCE_CHECK(limits.count > 0, "there is a slot");
}

std::optional<Slot> KvSlots::enter(std::vector<TokenId> tokens, Scope scope,
                                   std::optional<Saved> saved) {
  SEEDANCE_CHECK(!tokens.empty(), "a sequence begins with a token");
  SEEDANCE_CHECK(!saved || saved->tokens < tokens.size(), "the last token is to be computed");
  const auto slot = limits_.dense ? beside(scope.adapter) : least_wanted();
  if (!slot) return std::nullopt;
  const Beginning beginning =
      saved ? begin_with_saved(*slot, *saved) : begin_with_prefix(*slot, tokens, scope);
  counts_.asked += tokens.size() - (saved ? saved->tokens : 0);
  counts_.reused += saved ? 0 : beginning.reused;
  at(*slot) = {.tokens = std::move(tokens),
               .scope = scope,
               .computed = beginning.computed,
               .reused = beginning.reused,
               .pinned = beginning.pinned,
               .used_at = ++uses_,
               .used = true,
               .coming = saved.has_value()};
  return slot;
}

KvSlots::Beginning KvSlots::begin_with_prefix(Slot slot, std::span<const TokenId> tokens,
                                              Scope scope) {
  const Prefix prefix = longest(tokens, scope, slot);
  const Slot from = prefix.tokens > 0 ? prefix.slot : slot;
  pin(from, tokens.first(prefix.tokens));
  const bool rescued = rescue(slot, from == slot ? prefix.tokens : 0, from);
  hold(slot, from, prefix.tokens);
  std::uint32_t pinned = from == slot && !rescued ? std::min(at(from).pinned, prefix.tokens) : 0;
  if (from != slot && !at(from).used) {
    at(from).used_at = ++uses_;
    if (at(from).computed == prefix.tokens) {  // All of it is in both.
      pinned = at(from).pinned;
      hold(from, from, 0);
    }
  }
  return {.computed = prefix.tokens, .reused = prefix.tokens, .pinned = pinned};
}

KvSlots::Beginning KvSlots::begin_with_saved(Slot slot, const Saved& saved) {
  rescue(slot, 0, slot);
  changes_.push_back({.slot = slot, .from = saved.place, .tokens = saved.tokens});
  cells_.cut(slot.value, 0);
  cells_.compute(slot.value, saved.tokens);
  return {.computed = saved.tokens, .reused = saved.reused};
}

std::optional<Slot> KvSlots::comes_soon(std::span<const TokenId> tokens, Scope scope) const {
  if (limits_.reuse_min == 0) return std::nullopt;
  const std::uint32_t here = longest(tokens, scope, std::nullopt).tokens;
  const auto found = std::ranges::find_if(contents_, [&](const Content& content) {
    if (!content.used || content.scope != scope) return false;
    const std::uint32_t soon = common_prefix(tokens.first(tokens.size() - 1), content.tokens);
    return soon > content.computed && soon >= here + limits_.reuse_min &&
           worth_copying(soon, content.tokens.size());
  });
  if (found == contents_.end()) return std::nullopt;
  return Slot{static_cast<std::uint32_t>(found - contents_.begin())};
}

std::uint32_t KvSlots::found(std::span<const TokenId> tokens, Scope scope) const {
  return longest(tokens, scope, std::nullopt).tokens;
}

void KvSlots::append(Slot slot, TokenId token) {
  at(slot).tokens.push_back(token);
}

void KvSlots::on_computed(Slot slot, std::uint32_t tokens) {
  Content& content = at(slot);
  content.computed += tokens;
  cells_.compute(slot.value, tokens);
  SEEDANCE_CHECK(content.computed <= content.tokens.size(), "only what is known is computed");
}

void KvSlots::cut(Slot slot) {
  changes_.push_back({.slot = slot, .from = slot, .tokens = at(slot).computed});
}

void KvSlots::save(Slot slot, Slot place) {
  changes_.push_back({.slot = place, .from = slot, .tokens = at(slot).computed});
}

void KvSlots::restore(Slot slot, Slot place) {
  changes_.push_back({.slot = slot, .from = place, .tokens = at(slot).computed});
}

void KvSlots::drop(Slot place) {
  changes_.push_back({.slot = place, .from = place, .tokens = 0});
}

void KvSlots::on_restored(Slot slot) {
  at(slot).coming = false;
}

void KvSlots::on_not_restored(Slot slot) {
  Content& content = at(slot);
  counts_.asked += content.computed;
  content.coming = false;
  content.computed = content.reused = 0;
  cells_.cut(slot.value, 0);
}

std::uint32_t KvSlots::elsewhere(Slot slot) const {
  if (limits_.reuse_min == 0) return 0;
  const auto own = tokens(slot).first(computed(slot));
  std::uint32_t most = 0;
  for (std::uint32_t other = 0; other < contents_.size(); ++other) {
    const Content& content = contents_[other];
    if (Slot{other} == slot || content.coming || content.scope != at(slot).scope) continue;
    most = std::max(most, common_prefix(own, tokens({other}).first(content.computed)));
  }
  return most < limits_.reuse_min ? 0 : most;
}

void KvSlots::leave(Slot slot) {
  Content& content = at(slot);
  if (content.computed < std::max(limits_.reuse_min, 1U) || limits_.reuse_min == 0) {
    clear(slot);
    return;
  }
  content.tokens.resize(content.computed);
  content.used_at = ++uses_;
  content.used = false;
}

std::vector<TokenId> KvSlots::clear(Slot slot) {
  std::vector<TokenId> tokens = std::move(at(slot).tokens);
  at(slot).used = false;
  cells_.cut(slot.value, 0);
  // Also when nothing was computed: what failed may have left something.
  changes_.push_back({.slot = slot, .from = slot, .tokens = 0});
  at(slot) = {};
  return tokens;
}

bool KvSlots::evict() {
  const auto slot = oldest();
  if (!slot) return false;
  ++counts_.evictions;
  Content& content = at(*slot);
  if (content.pinned == 0 || content.pinned == content.computed) {
    clear(*slot);
    return true;
  }
  hold(*slot, *slot, content.pinned);
  content.computed = content.pinned;
  content.tokens.resize(content.pinned);
  return true;
}

std::vector<KvChange> KvSlots::take_changes() {
  return std::exchange(changes_, {});
}

std::uint32_t KvSlots::take_copied() {
  return std::exchange(copied_, 0);
}

KvUse KvSlots::use() const {
  const auto count = [this](auto tokens_of) {
    std::vector<std::uint32_t> tokens;
    std::ranges::transform(contents_, std::back_inserter(tokens), tokens_of);
    return cells_.count(tokens);
  };
  const std::uint64_t active =
      count([](const Content& each) { return each.used ? each.computed : 0; });
  const std::uint64_t wanted =
      count([](const Content& each) { return each.used ? each.computed : each.pinned; });
  return {.active = active,
          .pinned = wanted - active,
          .cached = count([](const Content& each) { return each.computed; }) - wanted};
}

KvCounts KvSlots::take_counts() {
  return std::exchange(counts_, {});
}

// For a sequence that goes to `target`: rather there than elsewhere, and rather from one that
// holds little. Whole prompts are not given: the last token's logits are wanted.
KvSlots::Prefix KvSlots::longest(std::span<const TokenId> tokens, Scope scope,
                                 std::optional<Slot> target) const {
  Prefix best;
  if (limits_.reuse_min == 0) return best;
  const auto copied = [&](Slot slot) { return slot == target ? 0 : at(slot).computed; };
  for (std::uint32_t slot = 0; slot < contents_.size(); ++slot) {
    const Content& content = contents_[slot];
    const std::uint32_t most =
        std::min(content.computed, static_cast<std::uint32_t>(tokens.size()) - 1);
    if (content.scope != scope || content.coming) continue;
    if (most < limits_.reuse_min || most < best.tokens) continue;
    const std::uint32_t count = common_prefix(tokens.first(most), content.tokens);
    if (count < limits_.reuse_min || count < best.tokens) continue;
    if (count == best.tokens && copied({slot}) >= copied(best.slot)) continue;
    if (target != Slot{slot} && !worth_copying(count, content.computed)) continue;
    best = {{slot}, count};
  }
  return best;
}

bool KvSlots::worth_copying(std::uint32_t tokens, std::size_t all) const {
  return !limits_.dense || std::uint64_t{tokens} * kCopiedPerComputed >= all;
}

std::optional<Slot> KvSlots::lowest_unused() const {
  for (std::uint32_t slot = 0; slot < contents_.size(); ++slot) {
    if (!contents_[slot].used) return Slot{slot};
  }
  return std::nullopt;
}

// For the adapter's next sequence: beside one of its own, or else where there is room for more of
// them. As long as there is no other adapter, the lowest.
std::optional<Slot> KvSlots::beside(std::uint32_t adapter) const {
  const auto used_by = [&](std::size_t slot, bool own) {
    return slot < contents_.size() && contents_[slot].used &&
           (contents_[slot].scope.adapter == adapter) == own;
  };
  std::optional<Slot> beside;
  bool alone = true;
  for (std::uint32_t slot = 0; slot < contents_.size(); ++slot) {
    alone = alone && !used_by(slot, false);
    if (beside || contents_[slot].used) continue;
    if (used_by(slot + 1, true) || (slot > 0 && used_by(slot - 1, true))) beside = Slot{slot};
  }
  if (alone) return lowest_unused();
  return beside ? beside : widest_unused();
}

// In the middle of the most unused ones that are side by side.
std::optional<Slot> KvSlots::widest_unused() const {
  std::optional<Slot> middle;
  std::uint32_t widest = 0;
  std::uint32_t width = 0;
  for (std::uint32_t slot = 0; slot < contents_.size(); ++slot) {
    width = contents_[slot].used ? 0 : width + 1;
    if (width <= widest) continue;
    widest = width;
    middle = Slot{slot - ((width - 1) / 2)};
  }
  return middle;
}

// The highest of those that hold nothing.
std::optional<Slot> KvSlots::empty() const {
  for (auto slot = static_cast<std::uint32_t>(contents_.size()); slot-- > 0;) {
    if (!contents_[slot].used && contents_[slot].computed == 0) return Slot{slot};
  }
  return std::nullopt;
}

// What is pinned goes last, and its end, which is not, before it.
int KvSlots::rank(const Content& content) {
  if (content.pinned == 0) return 0;
  return content.pinned < content.computed ? 1 : 2;
}

// What nobody uses and is wanted least: for longest.
std::optional<Slot> KvSlots::oldest() const {
  std::optional<Slot> oldest;
  for (std::uint32_t slot = 0; slot < contents_.size(); ++slot) {
    const Content& content = contents_[slot];
    if (content.used || content.computed == 0) continue;
    const auto order = [](const Content& each) { return std::pair{rank(each), each.used_at}; };
    if (!oldest || order(content) < order(at(*oldest))) oldest = Slot{slot};
  }
  return oldest;
}

std::optional<Slot> KvSlots::least_wanted() const {
  const auto slot = empty();
  return slot ? slot : oldest();
}

// A sequence begins with this prefix of what the slot holds. Where it goes on otherwise the
// prefix is pinned there, unless it is already, up to fewer tokens than are worth a copy.
void KvSlots::pin(Slot slot, std::span<const TokenId> prefix) {
  const std::size_t least = limits_.reuse_min;
  if (prefix.empty() || at(slot).tokens.size() < prefix.size() + least) return;
  std::size_t pins = 0;
  for (Content& content : contents_) {
    if (content.pinned == 0) continue;
    const std::span held = std::span{content.tokens}.first(content.computed);
    const std::uint32_t common = content.scope == at(slot).scope ? common_prefix(prefix, held) : 0;
    if (common + least > prefix.size()) {
      content.pinned = std::max(content.pinned, common);
      content.used_at = content.used ? content.used_at : ++uses_;
      return;
    }
    ++pins;
  }
  const std::size_t most = contents_.size() / 2;
  if (most == 0) return;
  if (pins >= most) unpin_for(at(slot).scope.owner);
  at(slot).pinned = static_cast<std::uint32_t>(prefix.size());
}

// One pin less: the oldest of whoever then had most, so that nobody loses those of others.
void KvSlots::unpin_for(std::uint64_t owner) {
  const auto order = [&](const Content& content) {
    const auto theirs = std::ranges::count_if(contents_, [&](const Content& each) {
      return each.pinned > 0 && each.scope.owner == content.scope.owner;
    });
    return std::tuple{content.pinned > 0, theirs + (content.scope.owner == owner ? 1 : 0),
                      ~content.used_at};
  };
  std::ranges::max_element(contents_, {}, order)->pinned = 0;
}

// Of what the slot holds only the first `kept` tokens stay. Where the rest is worth it, all
// of it moves to an empty slot, or in the place of something less wanted, but not in that of
// `other`, which is. Whether it did.
bool KvSlots::rescue(Slot slot, std::uint32_t kept, Slot other) {
  if (at(slot).computed < kept + std::max(limits_.reuse_min, 1U)) return false;
  const auto refuge = least_wanted();
  const bool moves = refuge && *refuge != slot && *refuge != other;
  if (!moves || at(*refuge).computed > 0) ++counts_.evictions;
  if (!moves) return false;
  hold(*refuge, slot, at(slot).computed);
  at(*refuge) = at(slot);
  return true;
}

void KvSlots::hold(Slot slot, Slot from, std::uint32_t tokens) {
  if (slot == from && at(slot).computed == tokens) return;
  changes_.push_back({.slot = slot, .from = from, .tokens = tokens});
  if (slot == from) {
    cells_.cut(slot.value, tokens);
  } else {
    cells_.copy(slot.value, from.value, tokens);
    if (limits_.dense) copied_ += at(from).computed;
  }
  if (tokens == 0) at(slot) = {};
}

}  // namespace seedance::sched
