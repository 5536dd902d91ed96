// Any text is a grammar or is refused, and any bytes can be matched with it: matching
// them with another matcher says the same.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/grammar_matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using seedance::text::GrammarMatcher;
  const std::string_view input{reinterpret_cast<const char*>(bytes), size};
  const std::size_t cut = std::min(input.find('\0'), size);
  const auto grammar = seedance::text::Grammar::parse(input.substr(0, cut));
  if (!grammar) return 0;
  GrammarMatcher one{*grammar};
  GrammarMatcher other{*grammar};
  auto state = one.start();
  auto same = other.start();
  for (const char byte : input.substr(std::min(cut + 1, size))) {
    const auto next = one.next(state, static_cast<unsigned char>(byte));
    SEEDANCE_CHECK(one.next(state, static_cast<unsigned char>(byte)) == next || one.exhausted(),
                   "what is known is found again");
    state = next;
    same = other.next(same, static_cast<unsigned char>(byte));
    if (one.exhausted() || other.exhausted()) return 0;
    SEEDANCE_CHECK(GrammarMatcher::alive(state) == GrammarMatcher::alive(same),
                   "matching depends on the text only");
    SEEDANCE_CHECK(one.may_end(state) == other.may_end(same), "and so does where it may end");
  }
  return 0;
}
