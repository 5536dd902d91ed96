#include "stream/token_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace seedance::stream {

void TokenLog::append(TokenId token, std::string_view text, TimePoint at,
                      const TokenLogprobs* logprobs) {
  SEEDANCE_CHECK(!ended_, "nothing follows the terminal record");
  text_.append(text);
  tokens_.push_back({.id = token, .text_end = static_cast<std::uint32_t>(text_.size()), .at = at});
  if (with_logprobs_) logprobs_.push_back(logprobs != nullptr ? *logprobs : TokenLogprobs{});
}

void TokenLog::append_terminal(Terminal terminal) {
  SEEDANCE_CHECK(!ended_, "a stream ends once");
  terminal_ = std::move(terminal);
  ended_ = true;
}

void TokenLog::commit(Head head) {
  SEEDANCE_CHECK(head.end <= appended(), "only what was appended is committed");
  SEEDANCE_CHECK(!head.done || ended_, "the terminal record is committed behind its append");
  published_.store(2 * head.end.value + (head.done ? 1 : 0), std::memory_order_release);
}

const TokenLogprobs& TokenLog::logprobs(Offset at) const {
  SEEDANCE_CHECK(with_logprobs_, "this log keeps no logprobs");
  return logprobs_[at.value];
}

void TokenLog::copy_bytes(std::uint64_t begin, std::uint64_t end, char* out) const {
  while (begin < end) {
    const std::span<const char> run = text_.run(begin, end);
    out = std::copy(run.begin(), run.end(), out);
    begin += run.size();
  }
}

void TokenLog::append_text(Offset from, Offset to, std::string& out) const {
  const std::size_t before = out.size();
  const std::size_t size = before + text_end(to) - text_end(from);
  out.resize_and_overwrite(size, [&](char* data, std::size_t) {
    copy_text(from, to, data + before);
    return size;  // What is given may be the capacity.
  });
}

std::string_view TokenLog::text(Offset from, Offset to, std::string& spill) const {
  const std::uint64_t begin = text_end(from);
  const std::uint64_t end = text_end(to);
  if (begin == end) return {};
  const std::span<const char> run = text_.run(begin, end);
  if (run.size() == end - begin) return {run.data(), run.size()};
  spill.clear();
  append_text(from, to, spill);
  return spill;
}

void TokenLog::prefetch_end_places() const {
  tokens_.prefetch_end_place();
  text_.prefetch_end_place();
}

void TokenLog::prefetch_end() const {
  tokens_.prefetch_end();
  text_.prefetch_end();
}

void TokenLog::prefetch_head() const {
  prefetch(&published_);
  tokens_.prefetch_places();
  text_.prefetch_places();
}

void TokenLog::prefetch_token(Offset from) const {
  if (from < head().end) tokens_.prefetch_element(from.value);
}

void TokenLog::prefetch_text(Offset from) const {
  // A token without text may stand at the end of what the writer has room for.
  if (from < head().end && text_end(from) < text_end(from + 1)) {
    text_.prefetch_element(text_end(from));
  }
}

const Terminal& TokenLog::terminal() const {
  SEEDANCE_CHECK(head().done, "the terminal record is not committed");
  return terminal_;
}

}  // namespace seedance::stream
