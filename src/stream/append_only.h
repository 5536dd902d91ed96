// A vector that grows without moving.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/prefetch.h"

namespace seedance::stream {

// Elements in blocks of First, First, 2 First, 4 First, ...: an element never
// moves once it is there, so one writer may append while readers look at
// elements whose existence was published to them (by a release-store that they
// acquired). What the writer needs to append is apart, where he wants it in memory.
template <typename T, std::size_t First>
  requires(std::has_single_bit(First))
class AppendOnly {
 public:
  // Belongs to the writer.
  struct End {
    std::size_t size = 0;
    T* next = nullptr;     // Where the next element goes, ...
    std::size_t room = 0;  // ... and how many fit there.
  };

  void push_back(End& end, const T& value) {
    if (end.room == 0) grow(end);
    *end.next++ = value;
    --end.room;
    ++end.size;
  }

  // One after the other.
  void append(End& end, std::span<const T> values) {
    while (!values.empty()) {
      if (end.room == 0) grow(end);
      const std::size_t count = std::min(end.room, values.size());
      end.next = std::copy_n(values.begin(), count, end.next);
      end.room -= count;
      end.size += count;
      values = values.subspan(count);
    }
  }

  // The last elements, if they are neighbours in memory; otherwise nothing. Looks at no block.
  static std::span<const T> last(const End& end, std::size_t count) {
    if (count == 0 || count > end.size || count > locate(end.size - 1).index + 1) return {};
    return {end.next - count, count};
  }

  const T& operator[](std::size_t at) const {
    const auto [block, index] = locate(at);
    return blocks_[block][index];
  }

  // For a look at an element soon, when it is at hand where that is.
  void prefetch_element(std::size_t at) const { prefetch(&(*this)[at]); }

  // The longest run of neighbours in memory within [from, to).
  std::span<const T> run(std::size_t from, std::size_t to) const {
    const auto [block, index] = locate(from);
    return {&blocks_[block][index], std::min(block_size(block) - index, to - from)};
  }

 private:
  struct Place {
    std::size_t block, index;
  };
  static constexpr std::size_t block_size(std::size_t block) {
    return block == 0 ? First : First << (block - 1);
  }
  static constexpr Place locate(std::size_t at) {
    if (at < First) return {0, at};
    const auto block = static_cast<std::size_t>(std::bit_width(at / First));
    return {block, at - (First << (block - 1))};
  }

  void grow(End& end) {
    const std::size_t block = locate(end.size).block;
    SEEDANCE_CHECK(block < blocks_.size(), "an append-only vector has 32 blocks");
    end.room = block_size(block);
    blocks_[block] = std::make_unique<T[]>(end.room);
    end.next = blocks_[block].get();
  }

  std::array<std::unique_ptr<T[]>, 32> blocks_;
};

}  // namespace seedance::stream
