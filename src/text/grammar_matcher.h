// Follows a grammar through the bytes of an answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "text/grammar.h"

namespace seedance::text {

inline constexpr std::size_t kMatcherEntriesMax = 64U << 10;  // Of each of its tables.
inline constexpr std::size_t kMatcherStepsMax = 256U << 10;   // Between two calls of renew().

// Where texts stand in one grammar, as numbers, so that what was found out once is
// looked up from then on.
//
// A place of the grammar is an element and the place behind the rule that the element is
// in, if there is one: a stack, whose lower parts many share. A state is all places at
// which the next character may come. Work and memory are bounded: past a bound, which takes
// a grammar that goes on in very many ways, exhausted() says so and nothing is alive
// any more. Belongs to one thread.
class GrammarMatcher {
 public:
  // Behind some bytes. The default is dead: nothing may come.
  struct State {
    std::uint32_t places = 0;
    // Of a character of which bytes are missing.
    std::uint8_t missing = 0;
    char32_t bits = 0;
    char32_t least = 0;

    friend bool operator==(const State&, const State&) = default;
  };

  explicit GrammarMatcher(Grammar grammar);
  GrammarMatcher(GrammarMatcher&&) = default;
  GrammarMatcher& operator=(GrammarMatcher&&) = default;

  State start() const { return start_; }
  State next(State state, unsigned char byte);

  static bool alive(const State& state) { return state.places != 0; }
  // Whether the text may end here.
  bool may_end(const State& state) const;

  std::size_t bytes() const;  // Of memory that it takes, about.

  bool exhausted() const { return exhausted_; }
  // Lets it do as much work again.
  void renew() { steps_ = 0; }

 private:
  // An element to come, and behind its rule another place; the first place is none.
  struct Place {
    std::uint32_t position = 0;
    std::uint32_t behind = 0;
  };
  using Places = std::vector<std::uint32_t>;  // Ascending; 0 among them is the end.

  std::uint32_t number(Place place);
  std::uint32_t number(Places places);
  std::uint32_t after(std::uint32_t places, char32_t character);
  void expand(Place place, Places& out);
  void expand_rule(Place place);
  bool may_complete(const State& state);
  bool completes(const State& state);
  bool spend(std::size_t entries);

  Grammar grammar_;
  std::vector<Place> places_{{}};
  std::unordered_map<std::uint64_t, std::uint32_t> place_numbers_;
  std::vector<std::uint64_t> seen_{0};  // By place: the expansion that saw it last.
  std::uint64_t expansion_ = 0;
  std::map<Places, std::uint32_t> state_numbers_;
  std::vector<const Places*> states_;  // Keys of state_numbers_.
  std::size_t state_places_ = 0;       // Of all states together.
  std::unordered_map<std::uint64_t, std::uint32_t> next_;
  std::unordered_map<std::uint64_t, bool>
      completes_;               // By places and what a character begins with.
  std::vector<Place> pending_;  // Scratch.
  std::size_t steps_ = 0;
  bool exhausted_ = false;
  State start_;
};

}  // namespace seedance::text
