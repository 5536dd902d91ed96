// Messages on a byte stream between two processes of one machine, and the
// integers, strings and lists inside them.
//
// A message is u32 size of the body, then the body; little-endian, since both
// ends are the same binary.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error_code.h"
#include "base/id.h"
#include "base/result.h"

namespace seedance {

// Above what the largest request that the settings allow can become: each of its
// bytes a token of four.
inline constexpr std::uint32_t kMessageBytesMax = 128U << 20;

// Appends one message to `out`: construct, put, then close() (or let it go out
// of scope), which writes the size.
class MessageWriter {
 public:
  explicit MessageWriter(std::string& out);
  ~MessageWriter() { close(); }
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  template <std::integral T>
  void put(T value) {
    append(out_, value, std::endian::little);
  }
  void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(std::string_view text);

  void close();

 private:
  std::string& out_;
  std::size_t begin_;
  bool open_ = true;
};

// Reads what a MessageWriter put, in the same order. After a read beyond the end
// every read gives zero or an empty string and ok() is false for good.
class FieldReader {
 public:
  explicit FieldReader(Bytes body) : rest_(body) {}

  template <std::integral T>
  T get() {
    if (rest_.size() < sizeof(T)) return give_up(), T{};
    const T value = load<T>(rest_.data(), std::endian::little);
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  float get_float() { return std::bit_cast<float>(get<std::uint32_t>()); }
  double get_double() { return std::bit_cast<double>(get<std::uint64_t>()); }
  bool get_flag();              // Put as a byte that is 0 or 1.
  std::string_view get_text();  // Borrowed from the body.

  // A count of items that each take at least `item_bytes`: 0 and not ok when
  // the body is too short to hold them, so that nobody allocates for a lie.
  std::uint32_t get_count(std::size_t item_bytes);

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  void give_up();

  Bytes rest_;
  bool ok_ = true;
};

// Tokens inside a message.
void put_tokens(MessageWriter& out, std::span<const TokenId> tokens);
std::vector<TokenId> get_tokens(FieldReader& in);

// A Problem inside a message. Nothing when its code is unknown.
void put_problem(MessageWriter& out, const Problem& problem);
std::optional<Problem> get_problem(FieldReader& in);

// Cuts a byte stream into message bodies. Belongs to one thread.
class MessageReader {
 public:
  void feed(Bytes bytes);

  // The next whole body, valid until the next feed(); nothing when more bytes
  // are needed; corrupt when a size is over kMessageBytesMax (then for good).
  Result<std::optional<Bytes>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  // Of what was not given out yet.
};

}  // namespace seedance
