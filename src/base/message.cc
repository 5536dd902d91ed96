#include "base/message.h"

#include <fmt/format.h>

namespace seedance {
namespace {

constexpr std::size_t kSizeBytes = sizeof(std::uint32_t);

}  // namespace

MessageWriter::MessageWriter(std::string& out) : out_(out), begin_(out.size()) {
  put(std::uint32_t{0});
}

void MessageWriter::put(std::string_view text) {
  put(static_cast<std::uint32_t>(text.size()));
  out_ += text;
}

void MessageWriter::close() {
  if (!open_) return;
  open_ = false;
  const std::size_t size = out_.size() - begin_ - kSizeBytes;
  SEEDANCE_CHECK(size <= kMessageBytesMax, "the sender bounds what it puts into one message");
  const std::uint32_t value = to_order(static_cast<std::uint32_t>(size), std::endian::little);
  std::memcpy(out_.data() + begin_, &value, kSizeBytes);
}

bool FieldReader::get_flag() {
  const auto byte = get<std::uint8_t>();
  if (byte > 1) give_up();
  return ok_ && byte == 1;
}

std::string_view FieldReader::get_text() {
  const auto size = get<std::uint32_t>();
  if (rest_.size() < size) return give_up(), std::string_view{};
  const std::string_view text = as_text(rest_.first(size));
  rest_ = rest_.subspan(size);
  return text;
}

std::uint32_t FieldReader::get_count(std::size_t item_bytes) {
  const auto count = get<std::uint32_t>();
  if (rest_.size() / item_bytes < count) return give_up(), 0;
  return count;
}

void FieldReader::give_up() {
  ok_ = false;
  rest_ = {};
}

void put_tokens(MessageWriter& out, std::span<const TokenId> tokens) {
  out.put(static_cast<std::uint32_t>(tokens.size()));
  for (const TokenId token : tokens) out.put(token.value);
}

std::vector<TokenId> get_tokens(FieldReader& in) {
  std::vector<TokenId> tokens(in.get_count(sizeof(std::int32_t)));
  for (TokenId& token : tokens) token.value = in.get<std::int32_t>();
  return tokens;
}

void put_problem(MessageWriter& out, const Problem& problem) {
  out.put(static_cast<std::uint8_t>(problem.code));
  out.put(problem.message);
  out.put(problem.param);
  out.put(static_cast<std::uint32_t>(problem.numbers.size()));
  for (const Problem::Number& number : problem.numbers) {
    out.put(number.key);
    out.put(number.value);
  }
  out.put(problem.retry_after_ms);
}

std::optional<Problem> get_problem(FieldReader& in) {
  const auto code = in.get<std::uint8_t>();
  if (code >= kErrorCodeCount) return std::nullopt;
  Problem problem{.code = static_cast<ErrorCode>(code), .message = std::string{in.get_text()}};
  problem.param = in.get_text();
  problem.numbers.resize(in.get_count(sizeof(std::uint32_t) + sizeof(std::int64_t)));
  for (Problem::Number& number : problem.numbers) {
    number.key = in.get_text();
    number.value = in.get<std::int64_t>();
  }
  problem.retry_after_ms = in.get<std::uint32_t>();
  return problem;
}

void MessageReader::feed(Bytes bytes) {
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += as_text(bytes);
}

Result<std::optional<Bytes>> MessageReader::next() {
  const Bytes rest = as_bytes(std::string_view{buffer_}.substr(begin_));
  if (rest.size() < kSizeBytes) return std::nullopt;
  const auto size = load<std::uint32_t>(rest.data(), std::endian::little);
  if (size > kMessageBytesMax) {
    return fail(Errc::corrupt,
                fmt::format("a message of {} bytes; {} are allowed", size, kMessageBytesMax));
  }
  if (rest.size() - kSizeBytes < size) return std::nullopt;
  begin_ += kSizeBytes + size;
  return rest.subspan(kSizeBytes, size);
}

}  // namespace seedance
