// Errors as values, and checks for bugs.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace seedance {

// What the caller can do about an error, not where it came from.
enum class Errc : std::uint8_t {
  invalid,       // The input is wrong: report it, do not retry.
  not_found,     // The thing named does not exist.
  overloaded,    // A limit was reached: retry later.
  disconnected,  // The peer or process is gone.
  truncated,     // Bytes end early: more may follow, or a crash cut them.
  corrupt,       // Bytes are there and are wrong.
};

std::string_view name(Errc code);

// A code to branch on and one sentence for a person. `detail` never holds
// prompt or generated text.
struct Error {
  Errc code{};
  std::string detail;

  friend bool operator==(const Error&, const Error&) = default;
};

// A value or an Error. Unlike std::expected in this standard library it cannot
// be dropped without a warning.
template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

template <>
class [[nodiscard]] Result<void> : public std::expected<void, Error> {
 public:
  using std::expected<void, Error>::expected;
};

inline std::unexpected<Error> fail(Errc code, std::string detail) {
  return std::unexpected(Error{code, std::move(detail)});
}

}  // namespace seedance
