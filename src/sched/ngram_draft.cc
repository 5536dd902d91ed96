#include "sched/ngram_draft.h"

#include <algorithm>
#include <array>
#include <utility>

namespace seedance::sched {
namespace {

// Longest first: what it finds is right more often.
constexpr auto kLengths = std::to_array<std::size_t>({4, 3, 2});

constexpr std::size_t kTableMin = 64;
constexpr std::size_t kProbesMax = 32;

constexpr std::uint32_t entry_of(std::size_t end, std::size_t length) {
  return static_cast<std::uint32_t>((end << 2U) | (length - 1));
}

std::span<const TokenId> ngram(std::span<const TokenId> tokens, std::uint32_t entry) {
  const std::size_t length = (entry & 3U) + 1;
  return tokens.subspan((entry >> 2U) + 1 - length, length);
}

std::size_t hash(std::span<const TokenId> tokens) {
  std::uint64_t sum = tokens.size();
  for (const TokenId token : tokens) {
    sum = (sum ^ static_cast<std::uint32_t>(token.value)) * 0x9E3779B97F4A7C15U;
    sum ^= sum >> 32U;
  }
  return sum;
}

}  // namespace

std::span<const TokenId> NgramDraft::guess(std::span<const TokenId> tokens, std::uint32_t count) {
  guess_.set({});
  for (; indexed_ + 1 < tokens.size(); ++indexed_) {
    for (const std::size_t length : kLengths) {
      if (length <= indexed_ + 1) insert(tokens, entry_of(indexed_, length));
    }
  }
  for (const std::size_t length : kLengths) {
    if (table_.empty() || length > tokens.size()) continue;
    const Entry found = table_[place(tokens, entry_of(tokens.size() - 1, length))];
    if (found == 0 || !std::ranges::equal(ngram(tokens, found), tokens.last(length))) continue;
    for (std::size_t at = (found >> 2U) + 1; guess_.rest().size() < count; ++at) {
      guess_.add(at < tokens.size() ? tokens[at] : guess_.rest()[at - tokens.size()]);
    }
    break;
  }
  return guess_.rest();
}

// Of the same n-gram, or a free one for it, or one that it drives out.
std::size_t NgramDraft::place(std::span<const TokenId> tokens, Entry entry) const {
  const auto wanted = ngram(tokens, entry);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash(wanted) & mask;
  for (std::size_t probes = 1; probes < kProbesMax; ++probes, at = (at + 1) & mask) {
    if (table_[at] == 0 || std::ranges::equal(ngram(tokens, table_[at]), wanted)) break;
  }
  return at;
}

void NgramDraft::insert(std::span<const TokenId> tokens, Entry entry) {
  if (used_ * 2 >= table_.size()) grow(tokens);
  Entry& here = table_[place(tokens, entry)];
  used_ += here == 0 ? 1 : 0;
  here = entry;
}

void NgramDraft::grow(std::span<const TokenId> tokens) {
  const std::vector<Entry> old = std::exchange(table_, {});
  table_.resize(std::max(kTableMin, 2 * old.size()));
  used_ = 0;
  for (const Entry entry : old) {
    if (entry != 0) insert(tokens, entry);
  }
}

}  // namespace seedance::sched
