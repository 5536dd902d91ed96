// From tokens to text that is safe to show.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "text/piece_table.h"

namespace seedance::text {

// Where shown text may end.
enum class Boundary : std::uint8_t {
  utf8,      // At the end of a character.
  grapheme,  // At the end of a user-perceived character (Unicode UAX #29).
};

struct TextOptions {
  Boundary boundary = Boundary::utf8;
  std::vector<std::string> stop = {};  // Not empty strings. Removed from the text.
};

// Folds one stream's tokens into its visible text.
//
// T(k), the visible text after k tokens, is the longest prefix of the text that
// is whole under the boundary and cannot be the beginning of a stop string; so
// any cut of the tokens into chunks gives the same text. What is held back is
// bounded (by the longest stop string, or kHeldBytesMax for one endless
// grapheme). A value: a copy continues from where the original stood.
class Detokenizer {
 public:
  // Longer unfinished graphemes are cut at a character's end.
  static constexpr std::size_t kHeldBytesMax = 256;

  Detokenizer(std::shared_ptr<const PieceTable> pieces, TextOptions options);

  enum class State : std::uint8_t { running, stopped };

  // Takes the next token and appends what became visible to `out`. Once a stop
  // string is complete the state is stopped, all text before the stop string is
  // out, and further tokens give nothing.
  State feed(TokenId token, std::string& out);

  // The generation ended by itself: appends what was held back; bytes that are
  // no whole character become U+FFFD. Idempotent.
  void finish(std::string& out);

  State state() const { return state_; }

 private:
  std::shared_ptr<const PieceTable> pieces_;  // Shared: every stream of the model reads it.
  TextOptions options_;
  std::string held_;
  State state_ = State::running;
};

}  // namespace seedance::text
