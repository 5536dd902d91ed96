#include "text/grammar.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "text/gbnf.h"

namespace seedance::text {
namespace {

using Element = GrammarElement;

// Which rules can be nothing at all: alternatives of which no part is left that must be
// something make their rules so, and that may make others so.
std::vector<bool> find_empty(const std::vector<GbnfRule>& rules) {
  struct Alternative {
    std::uint32_t rule = 0;
    std::size_t left = 0;  // Parts that may not be nothing.
  };
  std::vector<Alternative> alternatives;
  std::vector<std::vector<std::uint32_t>> uses(rules.size());  // By rule: alternatives with it.
  std::vector<bool> empty(rules.size());
  std::vector<std::uint32_t> found;
  const auto mark = [&](std::uint32_t rule) {
    if (!empty[rule]) found.push_back(rule);
    empty[rule] = true;
  };
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    for (const auto& sequence : rules[rule].alternatives) {
      for (const Element& element : sequence) {
        if (element.kind != Element::Kind::rule) continue;
        uses[element.index].push_back(static_cast<std::uint32_t>(alternatives.size()));
      }
      alternatives.push_back({.rule = rule, .left = sequence.size()});
      if (sequence.empty()) mark(rule);
    }
  }
  while (!found.empty()) {
    const std::uint32_t rule = found.back();
    found.pop_back();
    for (const std::uint32_t use : uses[rule]) {
      if (--alternatives[use].left == 0) mark(alternatives[use].rule);
    }
  }
  return empty;
}

// By rule: those that it may begin with. One that may become only itself gains nothing by
// it, and is no recursion.
std::vector<std::vector<std::uint32_t>> find_firsts(const std::vector<GbnfRule>& rules,
                                                    const std::vector<bool>& empty) {
  std::vector<std::vector<std::uint32_t>> firsts(rules.size());
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    for (const auto& sequence : rules[rule].alternatives) {
      for (std::size_t at = 0; at < sequence.size(); ++at) {
        const Element& element = sequence[at];
        if (element.kind != Element::Kind::rule) break;
        const bool itself = element.index == rule && at + 1 == sequence.size();
        if (!itself) firsts[rule].push_back(element.index);
        if (!empty[element.index]) break;
      }
    }
  }
  return firsts;
}

// A rule that may begin with itself: rules that begin with none of those left are taken
// away until there is none.
std::optional<std::uint32_t> find_left_recursion(const std::vector<GbnfRule>& rules) {
  const auto firsts = find_firsts(rules, find_empty(rules));
  std::vector<std::vector<std::uint32_t>> beginners(rules.size());
  std::vector<std::size_t> left(rules.size());
  std::vector<std::uint32_t> free;
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    left[rule] = firsts[rule].size();
    if (left[rule] == 0) free.push_back(rule);
    for (const std::uint32_t first : firsts[rule]) beginners[first].push_back(rule);
  }
  while (!free.empty()) {
    const std::uint32_t rule = free.back();
    free.pop_back();
    for (const std::uint32_t beginner : beginners[rule]) {
      if (--left[beginner] == 0) free.push_back(beginner);
    }
  }
  const auto stuck = std::ranges::find_if(left, [](std::size_t count) { return count > 0; });
  if (stuck == left.end()) return std::nullopt;
  // What is left leads to a circle.
  auto rule = static_cast<std::uint32_t>(stuck - left.begin());
  std::vector<bool> seen(rules.size());
  while (!seen[rule]) {
    seen[rule] = true;
    rule = *std::ranges::find_if(firsts[rule], [&](std::uint32_t each) { return left[each] > 0; });
  }
  return rule;
}

}  // namespace

Result<Grammar> Grammar::parse(std::string_view gbnf) {
  auto parsed = parse_gbnf(gbnf);
  if (!parsed) return std::unexpected(parsed.error());
  if (const auto rule = find_left_recursion(parsed->rules)) {
    return gbnf_error(gbnf, parsed->rules[*rule].begin, "this may begin with itself for ever");
  }
  Grammar grammar;
  grammar.root_ = parsed->root;
  for (const GbnfRule& rule : parsed->rules) {
    for (const auto& sequence : rule.alternatives) {
      grammar.starts_.push_back(static_cast<std::uint32_t>(grammar.elements_.size()));
      grammar.elements_.insert(grammar.elements_.end(), sequence.begin(), sequence.end());
      grammar.elements_.push_back({});
    }
    grammar.rule_ends_.push_back(static_cast<std::uint32_t>(grammar.starts_.size()));
  }
  for (const auto& set : parsed->sets) {
    grammar.ranges_.insert(grammar.ranges_.end(), set.begin(), set.end());
    grammar.set_ends_.push_back(static_cast<std::uint32_t>(grammar.ranges_.size()));
  }
  grammar.find_classes();
  return grammar;
}

void Grammar::find_classes() {
  for (const CharRange& range : ranges_) {
    class_begins_.push_back(range.first);
    class_begins_.push_back(range.last + 1);
  }
  std::ranges::sort(class_begins_);
  const auto repeated = std::ranges::unique(class_begins_);
  class_begins_.erase(repeated.begin(), repeated.end());
}

std::size_t Grammar::bytes() const {
  const auto of = [](const auto& all) { return all.capacity() * sizeof(all.front()); };
  return of(elements_) + of(starts_) + of(rule_ends_) + of(ranges_) + of(set_ends_) +
         of(class_begins_);
}

std::uint32_t Grammar::class_of(char32_t character) const {
  const auto next = std::ranges::upper_bound(class_begins_, character);
  return static_cast<std::uint32_t>(next - class_begins_.begin());
}

std::span<const std::uint32_t> Grammar::alternatives(std::uint32_t rule) const {
  const std::uint32_t begin = rule == 0 ? 0 : rule_ends_[rule - 1];
  return std::span{starts_}.subspan(begin, rule_ends_[rule] - begin);
}

std::span<const CharRange> Grammar::set(std::uint32_t index) const {
  const std::uint32_t begin = index == 0 ? 0 : set_ends_[index - 1];
  return std::span{ranges_}.subspan(begin, set_ends_[index] - begin);
}

bool Grammar::allows(std::uint32_t index, char32_t character) const {
  return allows_some(index, character, character);
}

bool Grammar::allows_some(std::uint32_t index, char32_t first, char32_t last) const {
  const auto ranges = set(index);
  const auto found = std::ranges::lower_bound(ranges, first, {}, &CharRange::last);
  return found != ranges.end() && found->first <= last;
}

}  // namespace seedance::text
