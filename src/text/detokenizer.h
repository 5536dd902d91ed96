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

// One stop string and how much of it the text's end is (Knuth, Morris, Pratt).
class StopString {
 public:
  explicit StopString(std::string text);

  // Takes the next byte of the text: true when the stop string is complete, after
  // which no byte may follow.
  bool feed(char byte);

  const std::string& text() const { return text_; }
  std::size_t matched() const { return matched_; }  // Bytes at the text's end.

 private:
  std::string text_;
  std::vector<std::size_t> fallback_;  // [n]: the next shorter match when n bytes match.
  std::size_t matched_ = 0;
};

// Folds one stream's tokens into its visible text.
//
// The text is what the tokens' visible bytes spell; bytes that can be part of no
// character are U+FFFD in it. The text ends before the stop string that is
// complete first; of several complete at one byte, before the one that starts
// first. T(k), the visible text after k tokens, is the longest prefix of the text
// that is whole under the boundary and cannot be the beginning of a stop string;
// so any cut of the tokens into chunks gives the same text, always valid UTF-8.
// What is held back is bounded: an unfinished character, plus the longest stop
// string, plus kHeldBytesMax for an endless grapheme. A value: a copy continues
// from where the original stood.
class Detokenizer {
 public:
  // Longer unfinished graphemes are cut at a character's end.
  static constexpr std::size_t kHeldBytesMax = 256;

  // Stop strings that no text can contain (empty or not UTF-8) are ignored.
  Detokenizer(std::shared_ptr<const PieceTable> pieces, TextOptions options);

  enum class State : std::uint8_t { running, stopped };

  // Takes the next token and appends what became visible to `out`. Once a stop
  // string is complete the state is stopped, all text before the stop string is
  // out, and further tokens give nothing.
  State feed(TokenId token, std::string& out);

  // The generation ended by itself: appends what was held back; bytes that are
  // no whole character become U+FFFD. Idempotent. No feed() may follow.
  void finish(std::string& out);

  State state() const { return state_; }

  // Text and bytes that wait for what follows.
  std::size_t held_bytes() const { return held_.size() + tail_.size(); }

 private:
  void append_whole(const PieceTable::Piece& piece, std::string& text);
  void find_stop(std::size_t from);
  void release(std::string& out);
  std::size_t grapheme_end(std::size_t limit);

  std::shared_ptr<const PieceTable> pieces_;  // Shared: every stream of the model reads it.
  Boundary boundary_;
  std::vector<StopString> stops_;
  std::string tail_;         // The beginning of a character: at most 3 bytes between calls.
  std::string held_;         // Whole characters.
  std::size_t scanned_ = 0;  // Bytes of held_ that the grapheme rules have seen.
  std::int32_t last_ = -1;   // The last character that they have seen.
  std::int32_t grapheme_state_ = 0;
  State state_ = State::running;
  bool finished_ = false;
};

}  // namespace seedance::text
