// The self-check of every reader: each token of a log is told once and in order.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace seedance::api {

// What one call of a view's render() appended.
struct Rendered {
  Offset from;               // Of its first chunk, if it has one.
  std::uint64_t tokens = 0;  // Of all its chunks.
  bool gap = false;          // A chunk did not begin where the one before it ended.
  bool done = false;         // The end of the stream is in it.

  // One more chunk, of tokens [begin, end).
  void add(Offset begin, Offset end);
};

// Follows what is rendered for one reader, by what the chunks say and not by the
// reader's cursor. A value; belongs to whoever owns the cursor.
class DeliveryCheck {
 public:
  // Of a reader that has all tokens before `from`.
  explicit DeliveryCheck(Offset from = {}) : from_(from), next_(from) {}

  // Whether it begins where what was rendered before it ended.
  [[nodiscard]] bool on_rendered(const Rendered& rendered);

  // What was rendered from `to` on will be rendered again. Whether it had been.
  [[nodiscard]] bool on_taken_back(Offset to);

  // Whether every token from the beginning to `total` was rendered, and none twice.
  bool complete(Offset total) const;

 private:
  Offset from_;
  Offset next_;
  std::uint64_t tokens_ = 0;
};

}  // namespace seedance::api
