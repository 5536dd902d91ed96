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
// acquired). `size()` and push belong to the writer.
template <typename T, std::size_t First>
  requires(std::has_single_bit(First))
class AppendOnly {
 public:
  void push_back(const T& value) {
    if (room_ == 0) grow();
    *next_++ = value;
    --room_;
    ++size_;
  }

  // One after the other.
  void append(std::span<const T> values) {
    while (!values.empty()) {
      if (room_ == 0) grow();
      const std::size_t count = std::min(room_, values.size());
      next_ = std::copy_n(values.begin(), count, next_);
      room_ -= count;
      size_ += count;
      values = values.subspan(count);
    }
  }

  std::size_t size() const { return size_; }

  const T& operator[](std::size_t at) const {
    const Place place = locate(at);
    return blocks_[place.block][place.index];
  }

  // For a look at an element soon: first where it is, then, with that at hand, itself.
  void prefetch_places() const { prefetch(blocks_.data(), 2 * kCacheLineBytes); }
  void prefetch_element(std::size_t at) const { prefetch(&(*this)[at]); }

  // The same for the end.
  void prefetch_end_place() const { prefetch_to_write(&size_); }
  void prefetch_end() const { prefetch_to_write(next_); }  // Past a full block it does no harm.

  // The longest run of neighbours in memory within [from, to).
  std::span<const T> run(std::size_t from, std::size_t to) const {
    const Place place = locate(from);
    const std::size_t left = block_size(place.block) - place.index;
    return {&blocks_[place.block][place.index], std::min(left, to - from)};
  }

 private:
  struct Place {
    std::size_t block;
    std::size_t index;
  };

  static constexpr std::size_t block_size(std::size_t block) {
    return block == 0 ? First : First << (block - 1);
  }
  static constexpr Place locate(std::size_t at) {
    if (at < First) return {0, at};
    const auto block = static_cast<std::size_t>(std::bit_width(at / First));
    return {block, at - (First << (block - 1))};
  }

  void grow() {
    const std::size_t block = locate(size_).block;
    SEEDANCE_CHECK(block < blocks_.size(), "an append-only vector has 32 blocks");
    room_ = block_size(block);
    blocks_[block] = std::make_unique<T[]>(room_);
    next_ = blocks_[block].get();
  }

  std::size_t size_ = 0;
  T* next_ = nullptr;     // Where the next element goes, ...
  std::size_t room_ = 0;  // ... and how many fit there.
  std::array<std::unique_ptr<T[]>, 32> blocks_;
};

}  // namespace seedance::stream
