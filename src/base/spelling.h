// What was meant by a name that there is not.
#pragma once

#include <cstddef>
#include <string_view>

namespace seedance {

// A longer name is like no other.
inline constexpr std::size_t kSpelledBytesMax = 64;

// Insertions, deletions and replacements that make `b` of `a`. Takes time in proportion to the
// product of their lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Of names that are offered one after another, the one that `wrong` was probably meant to be. The
// names outlive this.
class Nearest {
 public:
  // Where it is longer than any name, nothing is near.
  explicit Nearest(std::string_view wrong);

  // That may be spelled so.
  void offer(std::string_view name, std::string_view spelling);
  void offer(std::string_view name) { offer(name, name); }

  // Empty where none is near.
  std::string_view name() const { return name_; }

 private:
  const std::string_view wrong_;
  std::size_t beyond_;  // So far away is too far.
  std::string_view name_;
};

}  // namespace seedance
