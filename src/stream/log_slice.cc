#include "stream/log_slice.h"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "stream/journal_fields.h"

namespace seedance::stream {
namespace {

WallTime wall_time(const LogSlice& slice, TimePoint at) {
  return WallTime{at.time_since_epoch() + slice.to_wall};
}

// The tokens of a slice and the one before. What was appended last is found where the
// writer goes on, without a look at anything else.
class Entries {
 public:
  explicit Entries(const LogSlice& slice) : log_(slice.log), to_(slice.to) {
    const std::uint64_t before = slice.from.value == 0 ? 0 : 1;
    if (to_ == log_.appended()) {
      last_ = log_.last_tokens(to_.value - slice.from.value + before);
    }
  }

  TokenLog::Token operator[](Offset at) const {
    return last_.empty() ? log_.entry(at) : last_[last_.size() - (to_.value - at.value)];
  }
  std::uint64_t text_end(Offset end) const {
    return end.value == 0 ? 0 : (*this)[{end.value - 1}].text_end;
  }

 private:
  const TokenLog& log_;
  Offset to_;
  std::span<const TokenLog::Token> last_;
};

// Of the text, in bytes of the log's.
struct TextRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

void put_text(char* to, const LogSlice& slice, TextRange range) {
  const auto last = slice.to == slice.log.appended() ? slice.log.last_text(range.end - range.begin)
                                                     : std::span<const char>{};
  if (last.empty()) {
    slice.log.copy_bytes(range.begin, range.end, to);
  } else {
    std::ranges::copy(last, to);
  }
}

template <typename T>
char* put(char* to, T value) {
  value = to_order(value, std::endian::little);
  std::memcpy(to, &value, sizeof(value));
  return to + sizeof(value);
}

// The body, as a TokensRecord without logprobs has it (docs/formats/journal.md, kind 2).
void put_body(char* to, const LogSlice& slice, const Entries& entries, TextRange range) {
  const std::uint64_t count = slice.to.value - slice.from.value;
  to = put(to, slice.stream.high);
  to = put(to, slice.stream.low);
  to = put(to, slice.gen.value);
  to = put(to, slice.from.value);
  to = put(to, static_cast<std::uint32_t>(count));
  to = put(to, std::uint8_t{0});
  char* times = to + count * sizeof(TokenId::value);
  char* sizes = times + count * sizeof(WallTime::rep);
  char* text = sizes + count * sizeof(std::uint32_t);
  std::uint64_t before = range.begin;
  for (Offset at = slice.from; at < slice.to; at = at + 1) {
    const TokenLog::Token token = entries[at];
    to = put(to, token.id.value);
    times = put(times, wall_time(slice, token.at).time_since_epoch().count());
    sizes = put(sizes, static_cast<std::uint32_t>(token.text_end - before));
    before = token.text_end;
  }
  put_text(text, slice, range);
}

}  // namespace

Tokens to_tokens(const LogSlice& slice) {
  Tokens tokens;
  std::uint64_t before = slice.log.text_end(slice.from);
  for (Offset at = slice.from; at < slice.to; at = at + 1) {
    const std::uint64_t end = slice.log.text_end(at + 1);
    tokens.ids.push_back(slice.log.token(at));
    tokens.times.push_back(wall_time(slice, slice.log.time(at)));
    tokens.text_bytes.push_back(static_cast<std::uint32_t>(end - std::exchange(before, end)));
    if (slice.log.with_logprobs()) tokens.logprobs.push_back(slice.log.logprobs(at));
  }
  slice.log.append_text(slice.from, slice.to, tokens.text);
  return tokens;
}

void encode(const LogSlice& slice, std::string& out) {
  if (slice.log.with_logprobs()) {
    encode(TokensRecord{.stream = slice.stream,
                        .gen = slice.gen,
                        .from = slice.from,
                        .tokens = to_tokens(slice)},
           out);
    return;
  }
  constexpr std::size_t kTokenBytes = sizeof(TokenId::value) + sizeof(WallTime::rep) + 4;
  const Entries entries{slice};
  const TextRange range{.begin = entries.text_end(slice.from), .end = entries.text_end(slice.to)};
  const std::size_t body_bytes = kTokensBodyBytes +
                                 ((slice.to.value - slice.from.value) * kTokenBytes) +
                                 (range.end - range.begin);
  const std::size_t begin = out.size();
  const std::size_t size = begin + kRecordHeaderBytes + body_bytes;
  out.resize_and_overwrite(size, [&](char* data, std::size_t) {
    char* record = data + begin;
    put_body(record + kRecordHeaderBytes, slice, entries, range);
    seal_record(record, body_bytes, kind_of<TokensRecord>());
    return size;  // What is given may be the capacity.
  });
}

}  // namespace seedance::stream
