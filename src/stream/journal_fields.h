// The fields of a journal record (docs/formats/journal.md). Private to the sources that
// write and read them.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/id.h"
#include "base/time.h"
#include "stream/journal_record.h"

namespace seedance::stream {

inline constexpr std::size_t kRecordHeaderSummed = 12;  // By its own checksum.

// Of tokens, besides the tokens: stream and gen, their place, number and flag.
inline constexpr std::size_t kTokensBodyBytes = 16 + 4 + 8 + 4 + 1;

// How a kind of record is numbered.
template <typename Record, typename... All>
consteval std::uint8_t place_in(std::variant<All...>*) {
  std::uint8_t before = 0;
  (void)((std::is_same_v<Record, All> || (++before, false)) || ...);
  return before;
}

template <typename Record>
consteval std::uint8_t kind_of() {
  return place_in<Record>(static_cast<JournalRecord*>(nullptr)) + 1;
}

// Writes the header of a record whose body lies behind it.
inline void seal_record(char* record, std::size_t body_bytes, std::uint8_t kind) {
  SEEDANCE_CHECK(body_bytes <= kRecordBytesMax,
                 "limits keep every stream below the largest record");
  const auto put = [record](std::size_t at, std::uint32_t value) {
    value = to_order(value, std::endian::little);
    std::memcpy(record + at, &value, sizeof(value));
  };
  const auto sum = [record](std::size_t begin, std::size_t bytes) {
    return crc32c(as_bytes(std::string_view(record + begin, bytes)));
  };
  put(0, static_cast<std::uint32_t>(body_bytes));
  put(4, std::uint32_t{kind});  // The three bytes behind it are zero.
  put(8, sum(kRecordHeaderBytes, body_bytes));
  put(kRecordHeaderSummed, sum(0, kRecordHeaderSummed));
}

// One record in its frame: the fields, then close(). The string is longer than what was
// written, so that most fields need no look at its capacity.
class RecordWriter {
 public:
  RecordWriter(std::string& out, std::uint8_t kind)
      : out_(out), begin_(out.size()), end_(begin_ + kRecordHeaderBytes), kind_(kind) {
    out_.resize(end_ + kAheadBytes);
  }

  template <std::integral T>
  void put(T value) {
    value = to_order(value, std::endian::little);
    std::memcpy(room(sizeof(value)), &value, sizeof(value));
  }
  void put(float value) { put(std::bit_cast<std::uint32_t>(value)); }
  void put(WallTime at) { put(at.time_since_epoch().count()); }
  void put(StreamId id) {
    put(id.high);
    put(id.low);
  }
  // Each in its memory as in the format.
  template <typename T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::has_unique_object_representations_v<T>);
    static_assert(std::endian::native == std::endian::little);
    put_raw({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  template <std::size_t N>
  void put(const std::array<std::uint8_t, N>& bytes) {
    put_raw({reinterpret_cast<const char*>(bytes.data()), N});
  }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_raw(text);
  }
  void put_raw(std::string_view bytes) { bytes.copy(room(bytes.size()), bytes.size()); }

  void close() {
    out_.resize(end_);
    seal_record(out_.data() + begin_, end_ - begin_ - kRecordHeaderBytes, kind_);
  }

 private:
  static constexpr std::size_t kAheadBytes = 64;

  // Where the next bytes go.
  char* room(std::size_t bytes) {
    if (out_.size() - end_ < bytes) out_.resize(end_ + bytes + kAheadBytes);
    end_ += bytes;
    return out_.data() + end_ - bytes;
  }

  std::string& out_;
  std::size_t begin_;
  std::size_t end_;  // Of what was written.
  std::uint8_t kind_;
};

// The fields of one body, in the same order. After anything wrong ok() is false
// for good, and what is read is zero or empty.
class BodyReader {
 public:
  explicit BodyReader(Bytes body) : rest_(body) {}

  template <std::integral T>
  void get(T& value) {
    const Bytes bytes = take(sizeof(T));
    value = bytes.empty() ? T{} : load<T>(bytes.data(), std::endian::little);
  }
  void get(float& value) {
    std::uint32_t bits = 0;
    get(bits);
    value = std::bit_cast<float>(bits);
  }
  void get(WallTime& at) {
    std::int64_t count = 0;
    get(count);
    at = WallTime{WallTime::duration{count}};
  }
  void get(Duration& duration) {
    std::int64_t count = 0;
    get(count);
    duration = Duration{count};
  }
  void get(StreamId& id) {
    get(id.high);
    get(id.low);
  }
  template <std::size_t N>
  void get(std::array<std::uint8_t, N>& bytes) {
    const Bytes from = take(N);
    if (!from.empty()) std::memcpy(bytes.data(), from.data(), N);
  }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    text = as_text(take(size));
  }
  // Below `end`, or it is wrong.
  template <typename T = std::uint8_t>
  T get_below(int end) {
    std::uint8_t value = 0;
    get(value);
    require(value < end);
    return ok_ ? static_cast<T>(value) : T{};
  }
  // How many items of at least so many bytes each follow, all of them.
  std::uint32_t get_count(std::size_t item_bytes) {
    std::uint32_t count = 0;
    get(count);
    require(rest_.size() / item_bytes >= count);
    return ok_ ? count : 0;
  }

  Bytes take(std::uint64_t size) {
    require(rest_.size() >= size);
    if (!ok_) return {};
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  void require(bool holds) {
    if (holds) return;
    ok_ = false;
    rest_ = {};
  }

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  Bytes rest_;
  bool ok_ = true;
};

}  // namespace seedance::stream
