#include "text/detokenizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/unicode.h"

namespace seedance::text {

StopString::StopString(std::string text) : text_(std::move(text)), fallback_(text_.size(), 0) {
  for (std::size_t at = 1, matched = 0; at + 1 < text_.size(); ++at) {
    while (matched > 0 && text_[at] != text_[matched]) matched = fallback_[matched];
    if (text_[at] == text_[matched]) ++matched;
    fallback_[at + 1] = matched;
  }
}

bool StopString::feed(char byte) {
  while (matched_ > 0 && byte != text_[matched_]) matched_ = fallback_[matched_];
  if (byte == text_[matched_]) ++matched_;
  return matched_ == text_.size();
}

Detokenizer::Detokenizer(std::shared_ptr<const PieceTable> pieces, TextOptions options)
    : pieces_(std::move(pieces)), boundary_(options.boundary) {
  for (std::string& stop : options.stop) {
    if (!stop.empty() && is_utf8(stop)) stops_.emplace_back(std::move(stop));
  }
}

Detokenizer::State Detokenizer::feed(TokenId token, std::string& out) {
  SEEDANCE_CHECK(!finished_, "no token follows the end");
  const PieceTable::Piece piece = pieces_->piece(token);
  const bool visible = piece.kind == PieceKind::text && !piece.bytes.empty();
  if (!visible || state_ == State::stopped) return state_;
  if (stops_.empty() && boundary_ == Boundary::utf8) {
    append_whole(piece, out);
    return state_;
  }
  const std::size_t begin = held_.size();
  append_whole(piece, held_);
  find_stop(begin);
  release(out);
  return state_;
}

void Detokenizer::finish(std::string& out) {
  if (std::exchange(finished_, true)) return;
  const std::size_t begin = held_.size();
  if (!std::exchange(tail_, {}).empty() && state_ == State::running) {
    held_ += kReplacement;
    find_stop(begin);
  }
  out += std::exchange(held_, {});
}

// Appends what `piece` completes; the beginning of a character stays in tail_.
void Detokenizer::append_whole(const PieceTable::Piece& piece, std::string& text) {
  if (tail_.empty() && piece.whole) {
    text += piece.bytes;
    return;
  }
  tail_ += piece.bytes;
  const std::size_t whole = tail_.size() - incomplete_utf8_tail(tail_);
  append_valid_utf8(text, std::string_view{tail_}.substr(0, whole));
  tail_.erase(0, whole);
}

// Looks for stop strings that end in held_ from `from` on; cuts held_ there.
void Detokenizer::find_stop(std::size_t from) {
  if (stops_.empty()) return;
  for (std::size_t at = from; at < held_.size(); ++at) {
    std::size_t size = 0;  // Of the longest stop string that ends here.
    for (StopString& stop : stops_) {
      if (stop.feed(held_[at])) size = std::max(size, stop.text().size());
    }
    if (size == 0) continue;
    state_ = State::stopped;
    held_.resize(at + 1 - size);
    tail_.clear();
    return;
  }
}

// Moves what is visible from held_ to `out`.
void Detokenizer::release(std::string& out) {
  std::size_t end = held_.size();
  if (state_ == State::running) {
    std::size_t open = 0;  // Bytes at the end that a stop string may begin with.
    for (const StopString& stop : stops_) open = std::max(open, stop.matched());
    end -= open;
    if (boundary_ == Boundary::grapheme) end = grapheme_end(end);
  }
  out.append(held_, 0, end);
  held_.erase(0, end);
  scanned_ -= std::min(scanned_, end);
}

// The last end of a grapheme in held_ up to `limit`. Whether a grapheme ends is
// known only from the character after it, which may lie beyond `limit`.
std::size_t Detokenizer::grapheme_end(std::size_t limit) {
  std::size_t end = 0;
  while (scanned_ <= limit && scanned_ < held_.size()) {
    utf8proc_int32_t character = 0;
    const auto* const at = reinterpret_cast<const utf8proc_uint8_t*>(held_.data() + scanned_);
    const auto rest = static_cast<utf8proc_ssize_t>(held_.size() - scanned_);
    const auto size = static_cast<std::size_t>(utf8proc_iterate(at, rest, &character));
    const bool ends =
        last_ >= 0 && utf8proc_grapheme_break_stateful(last_, character, &grapheme_state_);
    if (ends || scanned_ + size - end > kHeldBytesMax) end = scanned_;
    last_ = character;
    scanned_ += size;
  }
  return end;
}

}  // namespace seedance::text
