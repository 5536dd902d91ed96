#include "stream/token_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace seedance::stream {

void TokenLog::append(TokenId token, std::string_view text, TimePoint at,
                      const TokenLogprobs* logprobs) {
  SEEDANCE_CHECK(!ended_, "nothing follows the terminal record");
  text_.append(text_end_, text);
  tokens_.push_back(
      tokens_end_, {.id = token, .text_end = static_cast<std::uint32_t>(text_end_.size), .at = at});
  if (!with_logprobs_) return;
  logprobs_.push_back(logprobs_end_, logprobs != nullptr ? *logprobs : TokenLogprobs{});
}

void TokenLog::append_terminal(Terminal terminal) {
  SEEDANCE_CHECK(!ended_, "a stream ends once");
  terminal_ = std::move(terminal);
  ended_ = true;
}

void TokenLog::commit(Head head) {
  SEEDANCE_CHECK(head.end <= appended(), "only what was appended is committed");
  SEEDANCE_CHECK(!head.done || ended_, "the terminal record is committed behind its append");
  SEEDANCE_CHECK(head.end.value < kTextEnd / 2, "limits keep every stream far below that");
  const std::uint64_t text = head.end == appended() ? text_end_.size : text_end(head.end);
  SEEDANCE_CHECK(text < kTextEnd, "and its text");
  published_.store((kTextEnd * text) + (2 * head.end.value) + (head.done ? 1 : 0),
                   std::memory_order_release);
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
  const std::uint64_t begin = text_end(from);
  const std::uint64_t end = text_end(to);
  const std::size_t before = out.size();
  const std::size_t size = before + end - begin;
  out.resize_and_overwrite(size, [&](char* data, std::size_t) {
    copy_bytes(begin, end, data + before);
    return size;  // What is given may be the capacity.
  });
}

std::string_view TokenLog::text_bytes(std::uint64_t begin, std::uint64_t end,
                                      std::string& spill) const {
  if (begin == end) return {};
  const std::span<const char> run = text_.run(begin, end);
  if (run.size() == end - begin) return {run.data(), run.size()};
  spill.resize(end - begin);
  copy_bytes(begin, end, spill.data());
  return spill;
}

void TokenLog::prefetch_end_places() const {
  prefetch_to_write(&text_end_);
}

// Past a full block it does no harm.
void TokenLog::prefetch_end() const {
  prefetch_to_write(text_end_.next);
  prefetch_to_write(tokens_end_.next);
}

void TokenLog::prefetch_head() const {
  prefetch(&published_);
}

void TokenLog::prefetch_text(std::uint64_t begin) const {
  if (begin < shown().text_end) text_.prefetch_element(begin);
}

const Terminal& TokenLog::terminal() const {
  SEEDANCE_CHECK(head().done, "the terminal record is not committed");
  return terminal_;
}

}  // namespace seedance::stream
