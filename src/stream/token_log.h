// The append-only record of one stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/id.h"
#include "base/time.h"
#include "stream/append_only.h"
#include "stream/record.h"

namespace seedance::stream {

// How far a log is committed.
struct Head {
  Offset end;         // Number of committed tokens.
  bool done = false;  // The terminal record is committed: `end` is final.

  friend constexpr auto operator<=>(const Head&, const Head&) = default;
};

// That, and where its text ends, in bytes.
struct Shown {
  Head head;
  std::uint64_t text_end = 0;
};

// A reader's position in one log.
struct Cursor {
  Offset next;        // The token wanted next.
  bool done = false;  // The terminal record was read.

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// Tokens, the visible text after each, and the terminal record of one stream.
//
// One writer (the core) appends and then commits; any number of readers on other
// threads look at what is committed. Appended but uncommitted tokens are
// invisible. Nothing is ever altered or removed. Knows nothing of its readers.
class TokenLog {
 public:
  struct Token {
    TokenId id;
    std::uint32_t text_end = 0;  // Of the visible text up to and with it, in bytes.
    TimePoint at;
  };

  explicit TokenLog(bool with_logprobs) : with_logprobs_(with_logprobs) {}
  TokenLog(const TokenLog&) = delete;
  TokenLog& operator=(const TokenLog&) = delete;

  // Writer.

  // `text` is what this token made visible. `logprobs` is looked at only in a
  // log that keeps them.
  void append(TokenId token, std::string_view text, TimePoint at, const TokenLogprobs* logprobs);

  // After this nothing is appended. At most once.
  void append_terminal(Terminal terminal);

  // Shows what was appended up to `head` to the readers. Heads only grow.
  void commit(Head head);
  // Shows everything.
  void commit() { commit(appended_head()); }

  Offset appended() const { return {tokens_end_.size}; }
  Head appended_head() const { return {.end = appended(), .done = ended_}; }
  // Only behind append_terminal().
  const Terminal& appended_terminal() const { return terminal_; }

  // What was appended last, where it lies; nothing if it lies in pieces.
  std::span<const Token> last_tokens(std::uint64_t count) const {
    return decltype(tokens_)::last(tokens_end_, count);
  }
  std::span<const char> last_text(std::uint64_t bytes) const {
    return decltype(text_)::last(text_end_, bytes);
  }

  // Something is appended soon: what lies elsewhere than what the call before brought.
  void prefetch_end_places() const;
  void prefetch_end() const;

  // Readers. Every offset given must be at most head().end; the writer's may be
  // at most appended().

  Shown shown() const {
    const std::uint64_t published = published_.load(std::memory_order_acquire);
    return {.head = {.end = {published % kTextEnd / 2}, .done = published % 2 == 1},
            .text_end = published / kTextEnd};
  }
  Head head() const { return shown().head; }
  Token entry(Offset at) const { return tokens_[at.value]; }
  TokenId token(Offset at) const { return tokens_[at.value].id; }
  TimePoint time(Offset at) const { return tokens_[at.value].at; }
  bool with_logprobs() const { return with_logprobs_; }
  const TokenLogprobs& logprobs(Offset at) const;  // Only in a log that keeps them.

  // Where the visible text of tokens [0, end) ends, in bytes.
  std::uint64_t text_end(Offset end) const {
    return end.value == 0 ? 0 : tokens_[end.value - 1].text_end;
  }

  // Appends the visible text of tokens [from, to).
  void append_text(Offset from, Offset to, std::string& out) const;

  // The same, where it lies; what lies in pieces is put together in `spill`.
  std::string_view text(Offset from, Offset to, std::string& spill) const {
    return text_bytes(text_end(from), text_end(to), spill);
  }

  // Both for who knows where the text begins and ends; the first copies it.
  void copy_bytes(std::uint64_t begin, std::uint64_t end, char* out) const;
  std::string_view text_bytes(std::uint64_t begin, std::uint64_t end, std::string& spill) const;

  // Only when head().done.
  const Terminal& terminal() const;

  // For a reader that soon wants the text from that byte on: what lies elsewhere than what
  // the call before brought.
  void prefetch_head() const;
  void prefetch_text(std::uint64_t begin) const;

 private:
  static constexpr std::uint64_t kTextEnd = std::uint64_t{1} << 32;

  // What every reader looks at comes first, in one cache line: most texts end within 6 blocks.
  // So that most need no token's place for its text: kTextEnd x text_end + 2 x tokens + done.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> published_{0};
  AppendOnly<char, 256> text_;
  // What the writer needs to append, in another.
  alignas(kCacheLineBytes) AppendOnly<char, 256>::End text_end_;
  AppendOnly<Token, 64>::End tokens_end_;
  const bool with_logprobs_;
  bool ended_ = false;  // There is a terminal record.
  AppendOnly<Token, 64> tokens_;
  AppendOnly<TokenLogprobs, 64> logprobs_;
  AppendOnly<TokenLogprobs, 64>::End logprobs_end_;
  Terminal terminal_;
};

}  // namespace seedance::stream
